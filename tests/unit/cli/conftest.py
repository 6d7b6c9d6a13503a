"""The world of the engine's tests, for what bridgectl makes of a daemon's answers; and a node without a daemon."""

from pathlib import Path

import pytest

from tests.unit.engine.conftest import impatience, world

from .login import Login

__all__ = ["impatience", "world"]


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Login:
    return Login(tmp_path, monkeypatch)
