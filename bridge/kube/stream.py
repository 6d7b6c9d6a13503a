"""Long answers, watch and log: read by a thread of their own, so that no consumer hangs with the server.

A blocking read can't wait for a `threading.Event` too, connecting and waiting for the headers least of all,
and a short socket time-out would break http.client's buffered reader for good.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from random import uniform
from threading import Condition, Event, Thread

from bridge.errors import RemoteError, Unavailable
from bridge.kube.library import TRANSPORT_ERRORS, Response

_POLL = 0.25  # seconds between two looks at ``stop``
_CHUNK = 65536
_MOST_TAKEN = 65536  # bytes: a busy log comes in chunks of one line each, and is taken in many at once
_MOST_AHEAD = 4 * 65536  # bytes read ahead; then the reader waits, and TCP holds the server back


def chunks(open_response: Callable[[], Response], stop: Event) -> Generator[bytes, None, None]:
    """The bytes of an answer as they come, until its proper end or until ``stop`` is set.

    Raises what ``open_response`` raises, and Unavailable for a stream that broke.
    """
    reader = _Reader(open_response)
    try:
        while not stop.is_set():
            taken = reader.take()
            if taken is None:
                return
            if taken:
                yield taken
    finally:
        reader.abandon()


def pieces(source: Iterable[bytes], limit: int) -> Iterator[bytes]:
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
        """Waits after one more failure; ``at_least`` is the server's Retry-After: the jitter comes on top of it."""
        delay = min(self._first * 2 ** min(self.failures, 10), self._longest)
        self.failures += 1
        self._stop.wait(at_least + delay * uniform(0.5, 1.0))


class _Reader:
    """The thread that opens and reads one answer, ahead of whoever takes it."""

    def __init__(self, open_response: Callable[[], Response]) -> None:
        self._open_response = open_response
        self._response: Response | None = None
        self._ahead = bytearray()
        self._outcome: RemoteError | None = None
        self._ended = False
        self._abandoned = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="kube-stream", daemon=True)
        self._thread.start()

    def take(self) -> bytes | None:
        """What has come since, b"" when nothing has for a moment; None at the end. Raises what broke the stream."""
        with self._changed:
            if not self._ahead and not self._ended:
                self._changed.wait(_POLL)
            if self._ahead:
                taken = bytes(self._ahead[:_MOST_TAKEN])
                del self._ahead[:_MOST_TAKEN]
                self._changed.notify()
                return taken
            if self._outcome is not None:
                raise self._outcome
            return None if self._ended else b""

    def abandon(self) -> None:
        """Ends the thread: at once while it reads, within the connection's time-out while it connects."""
        with self._changed:
            self._abandoned = True
            self._changed.notify()
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
            with self._changed:
                self._outcome, self._ended = outcome, True
                self._changed.notify()

    def _read(self, response: Response) -> None:
        try:
            with self._changed:
                self._response = response
            while chunk := response.read1(_CHUNK):
                if not self._put(chunk):
                    return
        finally:
            with self._changed:
                self._response = None
            response.close()

    def _put(self, chunk: bytes) -> bool:
        """Whether more is wanted, once there is room for it."""
        with self._changed:
            self._ahead += chunk
            # The API server sends an event in TLS records of a kilobyte: nobody is woken for a part of one.
            if b"\n" in chunk or len(self._ahead) >= _MOST_TAKEN:
                self._changed.notify()
            while len(self._ahead) >= _MOST_AHEAD and not self._abandoned:
                self._changed.wait()
            return not self._abandoned
