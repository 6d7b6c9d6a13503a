"""How long a call to the API server may take: longer, while the server is slower than that."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from bridge.errors import RemoteError, Unavailable

_MOST = 4.0  # times the usual time
_RAN_OUT = 0.6  # of a call's time: its first attempt alone may take as much; a refusal comes sooner


class Patience:
    """The time of calls to one server.

    A server that a thousand nodes ask at once may be slower than the time-out for minutes. If each gave up and asked
    anew, it would work for nobody and never come to an end of it: so calls get twice the time behind one that ran out,
    and half of that again behind one that was answered.
    """

    def __init__(self, usual: float) -> None:
        """``usual``: seconds of a call."""
        self._usual = usual
        self.seconds = usual

    @contextmanager
    def of_a_call(self) -> Iterator[float]:
        """Its seconds; what becomes of it is learned from."""
        seconds, began = self.seconds, time.monotonic()
        try:
            yield seconds
        except Unavailable:
            if time.monotonic() - began >= seconds * _RAN_OUT:
                # From the call's own time: of many that run out together, all mean the same.
                self.seconds = min(seconds * 2, self._usual * _MOST)
            raise
        except RemoteError:
            self._answered(seconds)
            raise
        self._answered(seconds)

    def _answered(self, seconds: float) -> None:
        self.seconds = max(min(self.seconds, seconds / 2), self._usual)
