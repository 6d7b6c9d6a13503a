"""The job as slurmd's environment tells it. Every value may be missing; a job chose some of them."""

from bridge.hook import word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Optional


class Job:
    """Facts out of SLURM_*. Bytes in, since a comment or a path need not be UTF-8."""

    def __init__(self, environment: "Mapping[bytes, bytes]") -> None:
        self.env = {
            name.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for name, value in environment.items()
            if name.startswith(b"SLURM")
        }
        self.id = self._number("SLURM_JOB_ID")
        if self.id is None:
            self.id = self._number("SLURM_JOBID")
        self.uid = self._number("SLURM_JOB_UID")
        self.gid = self._number("SLURM_JOB_GID")
        self.user = self.env.get("SLURM_JOB_USER", "")
        self.node = self.env.get("SLURMD_NODENAME", "")
        self.work_dir = environment.get(b"SLURM_JOB_WORK_DIR", b"/")
        self.stdout = environment.get(b"SLURM_JOB_STDOUT", b"")
        self.gpus = self.env.get("SLURM_JOB_GPUS", "")
        self.end = self._number("SLURM_JOB_END_TIME")
        self.spec = self._spec(environment)

    @property
    def on_batch_node(self) -> bool:
        """Whether this node is rank 0 of the job."""
        nodes = self.env.get("SLURM_JOB_NODELIST") or self.env.get("SLURM_NODELIST", "")
        return bool(self.node) and word.first_node(nodes) == self.node

    def marker(self, began: object) -> "dict[str, object]":
        """What the run marker keeps: enough to tell this run from another one with the same number, and whose it is,
        and from when (``began``, of the question) until when, once nothing else is left of it."""
        return {
            "cluster": self.env.get("SLURM_CLUSTER_NAME", ""),
            "restart": self._number("SLURM_JOB_RESTART_COUNT") or 0,
            "start": self._number("SLURM_JOB_START_TIME"),
            "uid": self.uid,
            "gpus": bool(self.gpus),
            "end": self.end,
            "began": began,
        }

    def _number(self, name: str) -> "Optional[int]":
        text = self.env.get(name, "")
        return int(text) if text.isdigit() else None

    @staticmethod
    def _spec(environment: "Mapping[bytes, bytes]") -> "Optional[bytes]":
        # Split as text, give back as bytes: surrogateescape is exact both ways.
        extra, comment = (
            environment.get(name, b"").decode("utf-8", "surrogateescape")
            for name in (b"SLURM_JOB_EXTRA", b"SLURM_JOB_COMMENT")
        )
        path = word.spec_path(extra, comment)
        return None if path is None else path.encode("utf-8", "surrogateescape")
