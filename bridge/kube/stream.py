"""Long answers, watch and log: read by a thread of their own, so that no consumer hangs with the server.

A blocking read can't wait for a `threading.Event` too, connecting and waiting for the headers least of all,
and a short socket time-out would break http.client's buffered reader for good.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from random import uniform
from threading import Event, Lock, Thread

from bridge.errors import RemoteError, Unavailable
from bridge.kube.library import TRANSPORT_ERRORS, Response

_POLL = 0.25  # seconds between two looks at ``stop``
_CHUNK = 65536
_BACKLOG = 16  # chunks read ahead; then the reader waits, and TCP holds the server back


def chunks(open_response: Callable[[], Response], stop: Event) -> Generator[bytes, None, None]:
    """The bytes of an answer as they come, until its proper end or until ``stop`` is set.

    Raises what ``open_response`` raises, and Unavailable for a stream that broke.
    """
    reader = _Reader(open_response)
    try:
        while not stop.is_set():
            try:
                item = reader.items.get(timeout=_POLL)
            except Empty:
                continue
            if item is None:
                return
            if isinstance(item, RemoteError):
                raise item
            yield item
    finally:
        reader.abandon()


def pieces(source: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """The lines of a byte stream with their newlines. A line longer than ``limit`` comes in several pieces,
    of which only the last has the newline; so may the end of the stream."""
    pending = bytearray()
    for chunk in source:
        searched = len(pending)
        pending += chunk
        start = 0
        while (end := pending.find(b"\n", max(start, searched))) >= 0:
            yield from _parts(pending[start : end + 1], limit)
            start = end + 1
        del pending[:start]
        while len(pending) > limit:
            yield bytes(pending[:limit])
            del pending[:limit]
    if pending:
        yield bytes(pending)


def _parts(line: bytearray, limit: int) -> Iterator[bytes]:
    for start in range(0, len(line), limit):
        yield bytes(line[start : start + limit])


class Pace:
    """How long to wait before the next attempt: doubling, with jitter, and never deaf to ``stop``."""

    def __init__(self, stop: Event, first: float = 0.2, longest: float = 10.0) -> None:
        self._stop = stop
        self._first = first
        self._longest = longest
        self.failures = 0

    def succeeded(self) -> None:
        self.failures = 0

    def pause(self, at_least: float = 0.0) -> None:
        """Waits after one more failure; ``at_least`` is the server's Retry-After."""
        delay = min(self._first * 2 ** min(self.failures, 10), self._longest)
        self.failures += 1
        self._stop.wait(max(delay * uniform(0.5, 1.0), at_least))


class _Reader:
    """The thread that opens and reads one answer. ``items``: chunks, then None or the error."""

    def __init__(self, open_response: Callable[[], Response]) -> None:
        self.items: Queue[bytes | RemoteError | None] = Queue(_BACKLOG)
        self._open_response = open_response
        self._response: Response | None = None
        self._abandoned = False
        self._lock = Lock()
        self._thread = Thread(target=self._run, name="kube-stream", daemon=True)
        self._thread.start()

    def abandon(self) -> None:
        """Ends the thread: at once while it reads, within the connection's time-out while it connects."""
        with self._lock:
            self._abandoned = True
            if self._response is not None:
                with suppress(RuntimeError, ValueError, OSError):  # it ended by itself just now
                    self._response.shutdown()
        self._thread.join(_POLL)

    def _run(self) -> None:
        outcome: RemoteError | None = Unavailable("The stream's reader failed")
        try:
            self._read(self._open_response())
            outcome = None
        except RemoteError as error:
            outcome = error
        except (*TRANSPORT_ERRORS, ValueError) as error:  # ValueError: TLS after shutdown()
            outcome = Unavailable(f"The stream broke: {' '.join(str(error).split())}")
            outcome.__cause__ = error
        finally:
            self._put(outcome)

    def _read(self, response: Response) -> None:
        try:
            with self._lock:
                self._response = response
            while not self._abandoned and (chunk := response.read1(_CHUNK)):
                self._put(chunk)
        finally:
            with self._lock:
                self._response = None
            response.close()

    def _put(self, item: bytes | RemoteError | None) -> None:
        while not self._abandoned:
            try:
                self.items.put(item, timeout=_POLL)
            except Full:
                continue
            return
