"""Each case runs against the fake and, where a stack is up (marker `stack`), against the real server."""

from collections.abc import Iterator

import pytest

from tests.contract.kubernetes_worlds import FakeWorld, RealWorld, World
from tests.contract.running import running_stack
from tests.contract.slurm_worlds import FakeSlurm, RealSlurm, Slurm

BOTH = ["fake", pytest.param("real", marks=pytest.mark.stack)]


@pytest.fixture(params=BOTH)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A namespace of one's own."""
    world: World = FakeWorld() if request.param == "fake" else RealWorld(running_stack())
    yield world
    world.close()


@pytest.fixture(params=BOTH)
def slurm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """A cluster that takes jobs of the user ml."""
    slurm: Slurm = FakeSlurm() if request.param == "fake" else RealSlurm(running_stack(), monkeypatch)
    yield slurm
    slurm.close()
