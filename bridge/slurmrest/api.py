"""What the engine needs of slurmctld, in the engine's words. `client.py` is the real one."""

import base64
import json
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Credential:
    """Who asks: Slurm user name and JWT. Lives in memory only, and never shows itself."""

    user: str
    token: str

    def __repr__(self) -> str:
        return f"Credential(user={self.user!r}, token=…)"

    @property
    def lifetime(self) -> float | None:
        """Seconds that the token was made for, by its own two times: clocks differ. None where it does not say."""
        try:
            body = self.token.split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
            return max(float(claims["exp"]) - float(claims["iat"]), 0.0)
        except (LookupError, ValueError, TypeError, RecursionError, OverflowError):
            return None


@dataclass(frozen=True)
class JobRecord:
    """One job as slurmctld knows it; the shape of slurmrestd v0.0.42, whichever version answered.

    ``states`` are Slurm's base state and flags ("RUNNING", "COMPLETING", …). ``gpus`` has the GPUs
    allocated per node in node order, empty where slurmctld does not say; ``gpu_types`` the types among them, '' for
    GPUs without one. ``cpus`` are those allocated per node in node order, every thread of a core counted, empty where
    slurmctld does not say. ``memory_mib`` is the memory of the smallest
    node's share, None where memory is not tracked. ``array_job_id`` and ``array_task_id`` are None
    outside an array. ``stdout`` is the absolute path of the batch script's output, '' without a script.
    ``start_time``, ``submit_time`` and ``eligible_time`` are seconds since the epoch, 0 where Slurm does not say.
    """

    job_id: int
    user_id: int
    user_name: str
    states: frozenset[str]
    state_reason: str
    start_time: int
    restart_count: int
    nodes: str
    batch: bool
    batch_host: str
    het_job_id: int | None
    array_job_id: int | None
    array_task_id: int | None
    gpus: tuple[int, ...]
    memory_mib: int | None
    comment: str
    stdout: str
    requeue: bool
    time_limit_minutes: int | None
    gpu_types: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()
    name: str = ""
    submit_time: int = 0
    eligible_time: int = 0
    qos: str = ""

    @property
    def named(self) -> str:
        """As Slurm's people and scontrol name this job alone: the plain number of an array's last element means the
        whole array."""
        if self.array_job_id is None or self.array_task_id is None:
            return str(self.job_id)
        return f"{self.array_job_id}_{self.array_task_id}"


@dataclass(frozen=True)
class NodeRecord:
    """One node as slurmctld knows it: ``states`` as "IDLE", "DRAIN", "COMPLETING"; ``reason`` '' where none is set."""

    name: str
    states: frozenset[str]
    reason: str


class SlurmRest(Protocol):
    """Every call raises the errors of `bridge.errors` (Unavailable, Unauthenticated, Forbidden, NotFound,
    Invalid, Unsupported) and nothing else, and ends within its own deadline. HTTP 200 is not success."""

    def job(self, who: Credential, job_id: int) -> JobRecord:
        """This one job; of an array exactly this element."""

    def set_comment(self, who: Credential, job: JobRecord, comment: str) -> None: ...

    def cancel(self, who: Credential, job: JobRecord) -> None:
        """Ends this job and no other; a job that has ended already is a success."""

    def set_time_limit(self, who: Credential, job: JobRecord, minutes: int) -> None:
        """The job's time limit from its start on; an operator's right where that is more than before."""

    def node(self, who: Credential, name: str) -> NodeRecord:
        """This one node, by Slurm's NodeName; Unavailable for one that slurmctld does not know: 24.11 says nothing."""

    def drain(self, who: Credential, name: str, reason: str) -> None:
        """No further job starts on this node; an administrator's right. A reason that was there is replaced."""

    def resume(self, who: Credential, name: str) -> None:
        """The drained node is in service again; an administrator's right. One that is not drained is a success."""
