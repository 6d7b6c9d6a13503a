"""The output of the ranks, kept from the container's start until `attach` has read it.

At most `SPOOL_LIMIT` bytes a rank are held in memory, and `TOTAL_LIMIT` of all ranks of all runs, but for `SHARE` that
every rank may have, so that jobs whose output nobody reads stop nobody else's. When there is no room, the follower
waits: the kubelet keeps the rest in its own file. A restarted daemon follows from where the reader had come to, and
waits until the reader has said where that is.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from bridge import wellknown
from bridge.errors import NotFound
from bridge.job.ids import RunKey
from bridge.kube.api import Kubernetes, LogPiece

SPOOL_LIMIT = 1024 * 1024  # bytes a rank
TOTAL_LIMIT = 64 * 1024 * 1024  # bytes of a node
SHARE = 64 * 1024  # bytes a rank whatever the others have
_PIECE_COST = 400  # bytes of memory that a piece takes besides its text
_WAIT = 0.5  # seconds between two looks at a stop signal


@dataclass
class Spool:
    """The kept pieces of one rank. ``origin`` is the position in the log from which they were read, ``base`` the number
    of the first kept piece, ``read`` of the one that the furthest reader wants next; pieces before it may go when room
    is needed."""

    origin: str
    pieces: deque[LogPiece] = field(default_factory=deque)
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
        self._readers: set[RunKey] = set()
        self._expected: set[RunKey] = set()
        self.changed = threading.Condition()

    def expect(self, keys: Iterable[RunKey]) -> None:
        """Scripts of these runs are at work, by the journal, and may have an `attach` that was here before."""
        with self.changed:
            self._expected |= set(keys)

    def resume(self, key: RunKey, after: Mapping[int, str]) -> None:
        """A reader has come; one that was here before a restart of the daemon had come so far with each rank."""
        with self.changed:
            self._readers.add(key)
            for rank, position in after.items():
                if (key, rank) not in self._spools:
                    self._after[key, rank] = position
            self.changed.notify_all()

    def follow(
        self,
        key: RunKey,
        rank: int,
        namespace: str,
        pod: str,
        stop: threading.Event,
        is_over: Callable[[], bool],
        *,
        has_reader: bool = False,
    ) -> None:
        """Fill the spool of this rank until its container has ended, which ``is_over`` knows from the watch of its
        pod, or ``stop`` is set. ``has_reader``: one has been here, perhaps at an earlier daemon, and comes again."""
        with self.changed:
            awaited = has_reader or key in self._expected
            while awaited and key not in self._readers and not stop.is_set():
                self.changed.wait(_WAIT)
            if stop.is_set():
                return  # the run may have been dropped already
            spool = self._spools.setdefault((key, rank), Spool(self._after.get((key, rank), "")))
            if spool.ended:
                return
            after = spool.pieces[-1].position if spool.pieces else spool.origin
        try:
            for piece in self._kube.follow_log(namespace, pod, wellknown.CONTAINER, after, stop, is_over):
                if not self._keep(spool, piece, stop):
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

    def _keep(self, spool: Spool, piece: LogPiece, stop: threading.Event) -> bool:
        with self.changed:
            while not self._make_room(spool, _cost(piece)):
                if stop.is_set():
                    return False
                self.changed.wait(_WAIT)
            spool.pieces.append(piece)
            spool.size += _cost(piece)
            self.changed.notify_all()
        return True

    def _make_room(self, spool: Spool, need: int) -> bool:
        while spool.size + need > SPOOL_LIMIT and _drop_a_read_piece(spool):
            pass
        for other in self._spools.values() if self._total() + need > TOTAL_LIMIT else ():
            while self._total() + need > TOTAL_LIMIT and _drop_a_read_piece(other):
                pass
        fits = self._total() + need <= TOTAL_LIMIT or spool.size + need <= SHARE
        return not spool.pieces or (fits and spool.size + need <= SPOOL_LIMIT)

    def _total(self) -> int:
        return sum(spool.size for spool in self._spools.values())

    def start(self, key: RunKey, rank: int, after: str) -> int:
        """The number of the piece with which a reader goes on that came as far as ``after``; -1 when what lies between
        is not kept any more."""
        with self.changed:
            spool = self._spools.get((key, rank))
            if spool is None or after == spool.origin:
                return 0
            for number in reversed(range(len(spool.pieces))):
                if spool.pieces[number].position == after:
                    return spool.base + number + 1
            return -1

    def take(self, key: RunKey, rank: int, number: int) -> tuple[list[LogPiece], int, bool]:
        """Pieces from this number on, the next number, and whether the rank has said all. A gap comes first where some
        were dropped before.

        Call it with `changed` held.
        """
        spool = self._spools.get((key, rank))
        if spool is None:
            return [], number, False
        start = max(number, spool.base)
        pieces = list(islice(spool.pieces, start - spool.base, None))
        spool.read = max(spool.read, start + len(pieces))
        if pieces:
            self.changed.notify_all()
        if number < start:
            pieces.insert(0, LogPiece("", b"", gap=True))
        return pieces, spool.base + len(spool.pieces), spool.ended

    def drop(self, key: RunKey) -> None:
        """The run is released: nobody will read any more."""
        with self.changed:
            self._spools = {where: spool for where, spool in self._spools.items() if where[0] != key}
            self._after = {where: position for where, position in self._after.items() if where[0] != key}
            self._readers.discard(key)
            self._expected.discard(key)
            self.changed.notify_all()


def _drop_a_read_piece(spool: Spool) -> bool:
    """Whether there was one."""
    if not spool.pieces or spool.base >= spool.read:
        return False
    spool.size -= _cost(spool.pieces.popleft())
    spool.base += 1
    return True


def _cost(piece: LogPiece) -> int:
    return len(piece.data) + _PIECE_COST
