"""The stack of tests/stack, where it is up. It is only used here, never started: see tests/integration."""

import json
import subprocess
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

STACK = Path(__file__).parent.parent / "stack" / "stack"
_PERIOD = 0.1  # seconds between two looks at what sends no event

Answer = TypeVar("Answer")


@cache
def running_stack() -> dict[str, Any]:
    """What the stack says of itself. Skips the test where there is none."""
    done = subprocess.run([STACK, "status", "--json"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the stack is not up: tests/stack/stack up")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


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
