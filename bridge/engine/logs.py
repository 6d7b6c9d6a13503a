"""The output of the ranks, kept from the container's start until `attach` has read it.

At most `SPOOL_LIMIT` bytes a rank are held in memory, and `TOTAL_LIMIT` of all ranks of all runs, but for `SHARE` that
every rank may have, so that jobs whose output nobody reads stop nobody else's. When there is no room, the follower
waits: the kubelet keeps the rest in its own file. A restarted daemon follows from where the reader had come to.
"""

import threading
from collections import deque
from dataclasses import dataclass, field

from bridge import wellknown
from bridge.errors import NotFound
from bridge.job.ids import RunKey
from bridge.kube.api import Kubernetes, LogLine

SPOOL_LIMIT = 1024 * 1024  # bytes a rank
TOTAL_LIMIT = 64 * 1024 * 1024  # bytes of a node
SHARE = 64 * 1024  # bytes a rank whatever the others have
_LINE_COST = 256  # bytes of memory that a line takes besides its text
_WAIT = 0.5  # seconds between two looks at a stop signal


@dataclass
class Spool:
    """The kept lines of one rank. ``base`` is the number of the first kept line, ``read`` the one that the
    furthest reader wants next; lines before it may go when room is needed."""

    lines: deque[LogLine] = field(default_factory=deque)
    base: int = 0
    read: int = 0
    size: int = 0
    ended: bool = False


class LogHub:
    """All spools of this node. Followers write, `attach` connections read; one condition serves all."""

    def __init__(self, kube: Kubernetes) -> None:
        self._kube = kube
        self._spools: dict[tuple[RunKey, int], Spool] = {}
        self._after: dict[tuple[RunKey, int], str] = {}
        self.changed = threading.Condition()

    def resume(self, key: RunKey, after: dict[int, str]) -> None:
        """A reader that was here before a restart of the daemon has come so far."""
        with self.changed:
            for rank, stamp in after.items():
                if (key, rank) not in self._spools:
                    self._after[key, rank] = stamp

    def follow(self, key: RunKey, rank: int, namespace: str, pod: str, stop: threading.Event) -> None:
        """Fill the spool of this rank until its container has ended or ``stop`` is set."""
        with self.changed:
            if stop.is_set():
                return  # the run may have been dropped already
            spool = self._spools.setdefault((key, rank), Spool())
            if spool.ended:
                return
            after = spool.lines[-1].stamp if spool.lines else self._after.get((key, rank), "")
        try:
            for line in self._kube.follow_log(namespace, pod, wellknown.CONTAINER, after, stop):
                if not self._keep(spool, line, stop):
                    return
        except NotFound:
            pass
        if not stop.is_set():
            with self.changed:
                spool.ended = True
                self.changed.notify_all()

    def last(self, namespace: str, pod: str, lines: int) -> bytes:
        """The last lines of a rank, whoever reads the spools. Raises the errors of `bridge.errors`."""
        return self._kube.last_log(namespace, pod, wellknown.CONTAINER, lines)

    def _keep(self, spool: Spool, line: LogLine, stop: threading.Event) -> bool:
        with self.changed:
            while not self._make_room(spool, _cost(line)):
                if stop.is_set():
                    return False
                self.changed.wait(_WAIT)
            spool.lines.append(line)
            spool.size += _cost(line)
            self.changed.notify_all()
        return True

    def _make_room(self, spool: Spool, need: int) -> bool:
        while spool.size + need > SPOOL_LIMIT and _drop_a_read_line(spool):
            pass
        for other in self._spools.values() if self._total() + need > TOTAL_LIMIT else ():
            while self._total() + need > TOTAL_LIMIT and _drop_a_read_line(other):
                pass
        fits = self._total() + need <= TOTAL_LIMIT or spool.size + need <= SHARE
        return not spool.lines or (fits and spool.size + need <= SPOOL_LIMIT)

    def _total(self) -> int:
        return sum(spool.size for spool in self._spools.values())

    def take(self, key: RunKey, rank: int, position: int) -> tuple[list[LogLine], int, bool]:
        """Lines from this position on, the next position, and whether the rank has said all.

        Call it with `changed` held.
        """
        spool = self._spools.get((key, rank))
        if spool is None:
            return [], position, False
        start = max(position, spool.base)
        lines = list(spool.lines)[start - spool.base :]
        spool.read = max(spool.read, start + len(lines))
        if lines:
            self.changed.notify_all()
        return lines, start + len(lines), spool.ended

    def drop(self, key: RunKey) -> None:
        """The run is released: nobody will read any more."""
        with self.changed:
            self._spools = {where: spool for where, spool in self._spools.items() if where[0] != key}
            self._after = {where: stamp for where, stamp in self._after.items() if where[0] != key}
            self.changed.notify_all()


def _drop_a_read_line(spool: Spool) -> bool:
    """Whether there was one."""
    if not spool.lines or spool.base >= spool.read:
        return False
    spool.size -= _cost(spool.lines.popleft())
    spool.base += 1
    return True


def _cost(line: LogLine) -> int:
    return len(line.data) + _LINE_COST
