"""A try that came to nothing is made again, whatever else happens in the same moment."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import create_autospec

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Executor
from bridge.engine.inbox import Stop
from bridge.engine.logs import LogHub
from bridge.engine.loop import Engine
from bridge.store.journal import Journal
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, batch, ready

GONE = events.PodGone(101.0, 0, "pod-0")


class Turned:
    """An engine whose turns the test makes, each with what it is told; what it starts is only noted."""

    def __init__(self, folder: Path) -> None:
        self.executor = create_autospec(Executor, instance=True)
        self.journal = Journal(folder)
        self.engine = Engine(CONFIG, self.journal, LogHub(FakeKubernetes()))
        self.engine.recover(self.executor)

    def turn(self, *told: events.Event) -> list[do.Activity]:
        """What is begun after these events, which come in one batch."""
        self.executor.start.reset_mock()
        for event in told:
            self.engine.happened(batch(1).began().run.key, event)
        self.engine.post(Stop())
        taken = self.engine._next_batch()
        for message in taken[:-1]:
            self.engine._take(message)
        self.engine._ledger.commit()
        self.engine._act()
        return [call.args[1] for call in self.executor.start.call_args_list]


@pytest.fixture
def turned(tmp_path: Path) -> Iterator[Turned]:
    made = Turned(tmp_path)
    yield made
    made.journal.close()


def proofs(begun: list[do.Activity]) -> int:
    return sum(isinstance(activity, do.ProveGone) for activity in begun)


@pytest.mark.parametrize(
    "came_to_nothing",
    [
        events.Failed(101.0, "prove", "the API server does not answer", "api-unreachable"),
        events.PodsRemain(101.0, ("pod-0",), "Kubernetes still shows worker-0"),
    ],
)
def test_a_pod_that_goes_as_its_proof_fails_does_not_end_the_proving(
    turned: Turned, came_to_nothing: events.Event
) -> None:
    """The epilog of a real run waited for an hour: its pod was told to be gone again as the API server had just not
    answered, and the proof that was wanted then looked like the one that had failed."""
    story = batch(1).created().sees(ready(0))
    begun = turned.turn(*story.told, events.EpilogBegan(100.0), events.WorkloadDeleted(100.0, "job-uid"), GONE)
    assert proofs(begun) == 1
    assert proofs(turned.turn(came_to_nothing, GONE)) == 1


def test_what_is_under_way_is_not_begun_again(turned: Turned) -> None:
    story = batch(1).created().sees(ready(0))
    turned.turn(*story.told, events.EpilogBegan(100.0), events.WorkloadDeleted(100.0, "job-uid"), GONE)
    assert proofs(turned.turn(GONE)) == 0
    assert proofs(turned.turn(events.Failed(101.0, "delete", "no answer", "api-unreachable"))) == 0
