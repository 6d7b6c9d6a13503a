"""Who comes to a node: slurmd's hooks and `bridgectl attach`, each in a thread of its own."""

import base64
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.hook.conversation import Conversation, request
from bridge.job.ids import RunKey, pod_name, workload_name
from bridge.slurmrest.api import JobRecord
from bridge.store.markers import Marker
from bridge.wire.client import DaemonGone, ask
from bridge.wire.frames import Channel
from tests.fakes.slurmrest import a_job

from .story import SPEC

OWNER, OTHER = 2001, 2002  # user ids: ml's, whose the jobs are, and another's
PATIENCE = 15.0  # seconds for anything that a test waits for

Message = dict[str, Any]
Scan = Callable[[Message], Message]
Markers = dict[int, Marker | None]
Finds = Sequence[tuple[int, str]]  # processes alive on the node: the number, and why it counts


@dataclass(frozen=True)
class Job:
    """A job as its submission and slurmctld made it: ml's, both GPUs of every node or none; the hooks of ``unnamed``
    nodes are told of none."""

    nodes: tuple[str, ...]
    id: int = 7
    start: int = 1_700_000_000
    restart: int = 0
    gpus: int = 2
    unnamed: tuple[str, ...] = ()

    @property
    def key(self) -> RunKey:
        """Its run."""
        return RunKey("demo", self.id, self.restart)

    @property
    def workload(self) -> str:
        """Name of its workload."""
        return workload_name("demo", self.key)

    def pod(self, rank: int) -> str:
        """Name of a rank's pod."""
        return pod_name(self.workload, rank)

    def record(self) -> JobRecord:
        """The job as slurmctld knows it."""
        return a_job(
            self.id,
            start_time=self.start,
            restart_count=self.restart,
            nodes=",".join(self.nodes),
            batch_host=self.nodes[0],
            gpus=(self.gpus,) * len(self.nodes),
            comment="my words, k8s=job.yaml",
        )

    def env(self, node: str) -> dict[str, str]:
        """What slurmd gives the hooks of this node."""
        is_named = self.gpus and node not in self.unnamed
        given = {"SLURM_JOB_GPUS": ",".join(map(str, range(self.gpus)))} if is_named else {}
        return given | {
            "SLURM_JOB_ID": str(self.id),
            "SLURM_JOB_RESTART_COUNT": str(self.restart),
            "SLURM_JOB_START_TIME": str(self.start),
            "SLURM_JOB_UID": str(OWNER),
            "SLURM_JOB_GID": "2001",
            "SLURM_JOB_USER": "ml",
            "SLURM_CLUSTER_NAME": "demo",
            "SLURM_JOB_PARTITION": "main",
            "SLURM_JOB_NODELIST": ",".join(self.nodes),
            "SLURMD_NODENAME": node,
            "SLURM_JOB_CPUS_PER_NODE": ",".join("2" for _ in self.nodes),
            "SLURM_JOB_WORK_DIR": "/home/ml",
            "SLURM_JOB_COMMENT": "my words, k8s=job.yaml",
        }

    def prolog(self, node: str) -> Message:
        """What the prolog's hook asks on this node."""
        asked = question("prolog", True, self.env(node)) | {"groups": [OWNER]}
        if node == self.nodes[0]:
            asked |= {"token": "owner's", "spec": {"path": "/home/ml/job.yaml", "data": _BASE64}}
        return asked

    def epilog(self, node: str) -> Message:
        """What the epilog's hook asks on this node."""
        return question("epilog", True, self.env(node)) | {"token": "owner's" if node == self.nodes[0] else None}


_BASE64 = base64.b64encode(SPEC).decode()


def question(phase: str, bridge: bool, env: dict[str, str]) -> Message:
    """What any hook asks."""
    return request(phase, bridge, env)


class Hook:
    """A hook's process: asks, scans when told to, and comes again when the connection breaks."""

    def __init__(
        self, path: Path, asked: Message, finds: Finds = (), *, may_scan: bool = True, markers: Markers | None = None
    ) -> None:
        """``finds`` are the processes alive on the node; the scan waits until ``may_scan`` is set; of ``markers`` it
        removes those that the answer names."""
        self._markers = {} if markers is None else markers
        self.scanned: list[Message] = []
        self.finds = finds
        self.scan_error: str | None = None
        self.may_scan = threading.Event()
        if may_scan:
            self.may_scan.set()
        self.asked_to_scan = threading.Event()
        self._answer: Message | None = None
        self._talk = Conversation(str(path), asked, self._scan, patience=PATIENCE, margin=PATIENCE, last_word=PATIENCE)
        self._thread = threading.Thread(target=self._run, name="hook")
        self._thread.start()

    @property
    def waits(self) -> bool:
        """No answer yet."""
        return self._thread.is_alive()

    def answer(self) -> Message:
        """What it is told at last."""
        self._thread.join(PATIENCE)
        assert self._answer is not None, "the hook got no answer"
        return self._answer

    def exit(self) -> int:
        """The exit code that it is told."""
        return int(self.answer()["exit"])

    def _run(self) -> None:
        answer: Any = self._talk.answer()
        for job, *run in answer["released_runs"]:
            marker = self._markers.get(job)
            if marker is not None and run in ([], [marker.restart, marker.start]):
                del self._markers[job]
        self._answer = answer

    def _scan(self, message: Message) -> Message:
        self.scanned.append(message)
        self.asked_to_scan.set()
        assert self.may_scan.wait(PATIENCE)
        found = [{"pid": pid, "command": "python", "why": why} for pid, why in self.finds]
        return {"kind": "scanned", "id": message["id"], "leftovers": found, "error": self.scan_error}


class MortalHook:
    """A hook that slurmd may kill."""

    def __init__(self, path: Path, asked: Message) -> None:
        self._channel = connected(path)
        self._channel.send(asked)
        assert self.hears()["kind"] == "hello"

    def hears(self) -> Message:
        """The next frame."""
        frame = self._channel.receive()
        assert frame is not None
        return frame

    def says(self, message: Message) -> None:
        """What it found."""
        self._channel.send(message)

    def dies(self) -> None:
        """SIGKILL."""
        self._channel.close()


class Attach:
    """`bridgectl attach` across restarts of the daemon; what it wrote, in order."""

    def __init__(self, path: Path, job: int, **told: object) -> None:
        self.told = told  # in its question, besides the job
        self.waits_for: list[str] = []
        self.lines: list[tuple[int, str]] = []
        self.gaps: list[int] = []
        self.notices: list[str] = []
        self.end: Message | None = None
        self.connected = threading.Event()
        self._after: dict[int, str] = {}
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, args=(path, job), name="attach")
        self._thread.start()

    def exit(self) -> int:
        """Its exit code; 75 after an error."""
        self._thread.join(PATIENCE + 2)
        assert self.end is not None, "attach did not end"
        return int(self.end.get("exit", 75))

    def of(self, rank: int) -> list[str]:
        """What this rank said."""
        return [text for said_by, text in self.lines if said_by == rank]

    def until(self, lines: int) -> None:
        """Waits until so many lines are there."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.lines) >= lines, PATIENCE), self.lines

    def _run(self, path: Path, job: int) -> None:
        end = time.monotonic() + PATIENCE
        while self.end is None and time.monotonic() < end:
            try:
                for frame in ask({"verb": "attach", "job": job, "after": self._after} | self.told, path):
                    self._take(frame)
            except DaemonGone:
                pass
            threading.Event().wait(0.01)

    def _take(self, frame: Message) -> None:
        with self._changed:
            match frame["kind"]:
                case "attached":
                    self.notices = frame["notices"]
                    self.connected.set()
                case "waiting":
                    self.waits_for.append(frame["sentence"])
                case "line":
                    self.lines.append((frame["rank"], frame["data"].rstrip("\n")))
                    self._after[frame["rank"]] = frame["stamp"]
                case "gap":
                    self.gaps.append(frame["rank"])
                case "token":
                    pass  # it brings none
                case _:
                    self.end = frame
            self._changed.notify_all()


def connected(path: Path) -> Channel:
    """A client of a socket. Raises OSError where nobody listens."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(PATIENCE)
    try:
        sock.connect(str(path))
    except OSError:
        sock.close()
        raise
    return Channel(sock)
