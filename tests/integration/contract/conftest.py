"""Each case runs against the fake and against the real server of the stack."""

from collections.abc import Iterator

import pytest

from tests.integration.contract.kubernetes_worlds import FakeWorld, RealWorld, World
from tests.integration.contract.slurm_worlds import FakeSlurm, RealSlurm, Slurm
from tests.integration.stack import Stack

BOTH = ["fake", "real"]


@pytest.fixture(params=BOTH)
def world(request: pytest.FixtureRequest, running_stack: Stack) -> Iterator[World]:
    """A namespace of one's own."""
    world: World = FakeWorld() if request.param == "fake" else RealWorld(running_stack.description)
    yield world
    world.close()


@pytest.fixture(params=BOTH)
def slurm(request: pytest.FixtureRequest, running_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """A cluster that takes jobs of the user ml."""
    slurm: Slurm = FakeSlurm() if request.param == "fake" else RealSlurm(running_stack.description, monkeypatch)
    yield slurm
    slurm.close()
