"""SIGTERM ends a run where the stack can be put back as it was.

An exception of its handler comes wherever the program is just then: it was swallowed by a callback of the interpreter
once, and a second signal broke off the putting back."""

import signal
import sys
import threading

_asked = threading.Event()


def heed() -> None:
    """From now on SIGTERM is a request that waits for the next `leave_if_asked`."""
    signal.signal(signal.SIGTERM, lambda *_: _asked.set())


def leave_if_asked() -> None:
    """To be called where it is a good moment. Raises SystemExit."""
    if _asked.is_set():
        sys.exit(128 + signal.SIGTERM)
