"""Commands, and a wait for what sends no event."""

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

_PERIOD = 0.1  # seconds between two looks at what sends no event

Answer = TypeVar("Answer")


def run(*words: str, stdin: str | None = None) -> str:
    """The standard output of a command."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, input=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def eventually(look: Callable[[], Answer], what: str, seconds: float = 60) -> Answer:
    """The first true answer."""
    end = time.monotonic() + seconds
    while not (answer := look()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s; last seen: {answer!r}"
        time.sleep(_PERIOD)
    return answer
