"""A world that leaves nothing behind."""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.engine import adoption, attachment, executor, reconciler, scans

from .clients import OTHER, OWNER, PATIENCE
from .reconciling import Stage
from .world import World

_MEMORY = Path("/dev/shm")  # each of the journal's writes is synced, and disks are slow


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that belong to no test's story are short."""
    monkeypatch.setattr(executor, "_FIRST_DELAY", 0.01)
    monkeypatch.setattr(scans, "_AGAIN", 0.02)
    monkeypatch.setattr(attachment, "_POLL", 0.02)
    monkeypatch.setattr(reconciler, "_PAUSE", 0.02)


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """ml has an account here, whatever machine runs the tests."""
    monkeypatch.setattr(adoption, "_user", {OWNER: "ml", OTHER: "other"}.get)


@pytest.fixture
def world() -> Iterator[World]:
    """Its directories have short names, since a socket's path may have 107 bytes."""
    before = set(threading.enumerate())
    root = Path(tempfile.mkdtemp(prefix="node-", dir=_MEMORY if _MEMORY.is_dir() else None))
    world = World(root)
    yield world
    world.end()
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(PATIENCE)
    shutil.rmtree(root)
    assert not [thread.name for thread in left if thread.is_alive()]
    assert not [*world.kube.faults.let_go, *world.rest.faults.let_go]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A reconciler alone."""
    return Stage(monkeypatch)
