"""The breaker: a prolog that begins in a long outage does not wait for its deadline."""

from dataclasses import replace

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.breaker import outage
from bridge.engine.health import KUBERNETES, Contact, Health
from bridge.engine.state import Workload
from bridge.errors import BridgeError, Conflict, NotYet, Unauthenticated, Unavailable

from .story import CONFIG, batch, member
from .world import World

DOWN = Contact(100.0, "connection refused", down_since=10.0)
TIMING = CONFIG.timing


def test_a_prolog_that_begins_in_a_long_outage_is_spared_the_deadline() -> None:
    run = replace(batch().began().run, began=10.0 + TIMING.breaker_after)
    early = run.began + TIMING.breaker_patience
    assert not outage(TIMING, DOWN, run, early - 0.1)
    found = outage(TIMING, DOWN, run, early)
    assert found is not None and "has not answered for 70 s (connection refused)" in found.sentence


def test_a_prolog_that_began_before_waits_for_its_own_deadline() -> None:
    run = replace(batch().began().run, began=10.0 + TIMING.breaker_after - 1)
    assert not outage(TIMING, DOWN, run, run.began + 200)


def test_nobody_else_is_concerned() -> None:
    run = replace(batch().began().run, began=100.0)
    late = 100.0 + TIMING.breaker_patience
    assert outage(TIMING, DOWN, run, late)
    assert not outage(TIMING, DOWN, replace(run, workload=Workload.LIVE), late)
    assert not outage(TIMING, DOWN, replace(member().began().run, began=100.0), late)
    assert not outage(TIMING, Contact(100.0, "refused"), run, late)
    assert not outage(TIMING, None, run, late)


@pytest.mark.parametrize(
    ("error", "down"),
    [
        (Unavailable("no answer"), True),
        (Unauthenticated("expired"), True),
        (Conflict("the name is taken"), False),
        (NotYet("no pods yet"), False),
        (None, False),
    ],
)
def test_what_counts_as_an_outage(error: BridgeError | None, down: bool) -> None:
    health, prove = Health(), do.ProveNode("n1", 0)
    health.note(prove, None, Unavailable("no answer"), 5.0)
    health.note(prove, events.Failed(9.0, "node", "why") if error else None, error, 9.0)
    assert health.contacts()[KUBERNETES].down_since == (5.0 if down else None)


def test_an_old_failure_is_no_outage() -> None:
    health, prove, down = Health(), do.ProveNode("n1", 0), Unavailable("no answer")
    for at in (5.0, 60.0, 119.0):
        health.note(prove, None, down, at)
        assert health.contacts()[KUBERNETES].down_since == 5.0
    health.note(prove, None, down, 180.0)
    assert health.contacts()[KUBERNETES].down_since == 180.0


def test_an_answer_of_a_kubelet_says_nothing_about_the_api_server() -> None:
    health = Health()
    health.note(do.FollowLog(0, "pod", "uid"), None, Unavailable("the kubelet is not there"), 5.0)
    assert health.contacts() == {}


def test_a_node_in_an_outage(world: World) -> None:
    # Long enough for slurmctld's answer, which names the job for the requeue; without it the hook asks for the name.
    node = world.node(breaker_after=0.001, breaker_patience=1.0)
    first, second = world.job(gpus=0), world.job(id=8, gpus=0)
    world.kube.faults.outage = Unavailable("no answer from the API server")
    waiting = node.prolog(first)
    node.until(lambda run: run.tried("node") >= 2, first)
    answer = node.prolog(second).answer()
    assert answer["exit"] == 0 and answer["requeue"] == {"job": "8", "hold": False}
    assert "no workload is started until it does" in world.comment(second)
    assert waiting.waits
    world.kube.faults.outage = None
    assert waiting.exit() == 0
