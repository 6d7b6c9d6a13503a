"""Places that another account can enter: pytest's own are 0700."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.hook.stage import Stage, play


@pytest.fixture
def stage() -> Iterator[Stage]:
    root = Path(tempfile.mkdtemp(prefix="hook-"))
    yield from play(root)
    shutil.rmtree(root)
