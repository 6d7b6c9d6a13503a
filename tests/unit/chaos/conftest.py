"""What tests of several files ask for."""

import pytest

from .hand import Hand


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time; a test may change it."""
    at = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: at[0])
    return at
