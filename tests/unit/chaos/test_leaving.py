"""SIGTERM waits for a good moment, however often it comes."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.chaos import leaving


@pytest.fixture(autouse=True)
def heeded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(leaving, "_asked", threading.Event())
    leaving.heed()
    yield
    signal.signal(signal.SIGTERM, before)


def test_nobody_leaves_unasked() -> None:
    leaving.leave_if_asked()


def test_who_is_asked_leaves_at_the_next_good_moment() -> None:
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)  # raises nothing here
    with pytest.raises(SystemExit) as left:
        leaving.leave_if_asked()
    assert left.value.code == 143
