"""Slurm counts from the hook's beginning; so does the daemon, whichever of its lives the hook speaks to."""

import threading
from typing import Any

import pytest

from bridge import clock
from bridge.engine import wanted
from bridge.engine.loop import Engine
from bridge.engine.recover import key_text

from .clients import PATIENCE, Hook, connected
from .node import Node, eventually
from .test_door import ALIVE, LONG, unproven
from .world import World


def hello(node: Node, question: dict[str, Any]) -> dict[str, Any]:
    """The daemon's first word."""
    channel = connected(node.hook_socket)
    channel.send(question)
    told = channel.receive()
    channel.close()
    assert told is not None
    return told


@pytest.mark.parametrize(("phase", "deadline"), [("prolog", 300.0), ("epilog", 3300.0)])
@pytest.mark.parametrize("spent", [0.0, 100.0, 10_000.0])
def test_the_hook_is_told_what_is_left_of_its_time(world: World, phase: str, deadline: float, spent: float) -> None:
    node, job = world.node(), world.job("n1", "n2")
    question = job.prolog("n1") if phase == "prolog" else job.epilog("n1")
    began = max(clock.now() - spent, 0.0)  # this machine may have been up for less
    left = max(deadline - (clock.now() - began), 0.0)
    told = hello(node, question | {"began": began})
    assert left - 5 <= told["remaining"] <= left
    assert told["deadline"] == told["remaining"]


def test_a_hook_that_does_not_tell_its_beginning_begins_now(world: World) -> None:
    question = world.job("n1", "n2").prolog("n1")
    del question["began"]
    assert 295 < hello(world.node(), question)["remaining"] <= 300


def test_a_beginning_in_the_future_is_now(world: World) -> None:
    question = world.job("n1", "n2").prolog("n1") | {"began": clock.now() + 1000}
    assert 295 < hello(world.node(), question)["remaining"] <= 300


def test_who_has_waited_at_the_door_for_its_time_is_answered_by_the_next_daemon_too(world: World) -> None:
    node, job = world.node(epilog_deadline=LONG, prolog_deadline=30.0), world.job()
    unproven(world, node, job)
    asked = world.job(id=8).prolog("n1") | {"began": clock.now() - 29.0}
    hook = Hook(node.hook_socket, asked, [ALIVE])
    node.crash()
    answer = hook.answer()
    assert answer["exit"] == 1
    assert "an earlier run (slurm-demo-7-0) is not proven gone" in answer["message"]


def test_a_run_begins_with_its_hook_and_not_with_its_daemon(world: World) -> None:
    node, job = world.node(), world.job("n1", "n2")
    began = clock.now() - 20.0
    asked = job.prolog("n1") | {"began": began}
    hello(node, asked)
    assert node.until(lambda run: run.began, job).began == began
    node.crash()
    hello(node, asked)
    assert node.run(job).began == began


def test_an_epilogs_time_does_not_begin_anew_with_a_new_daemon(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    epilog = node.epilog(job, [ALIVE])
    began = node.until(lambda run: run.leftovers, job).epilog_began
    for _ in range(3):
        node.crash()
        epilog.asked_to_scan.clear()
        assert epilog.asked_to_scan.wait(5)
    assert node.run(job).epilog_began == began
    kinds = [event.kind for run, event in node.journalled() if run == key_text(job.key)]
    assert kinds.count("epilog_began") == 1
    epilog.finds = []
    assert epilog.exit() == 0


def test_what_falls_due_while_a_round_is_at_work_is_not_passed_over(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for what happens next, or for the round that is due anyway after some seconds."""
    act, passed = Engine._act, threading.Event()

    def slowly(engine: Engine) -> None:
        """The round of a first moment is at work until a second one is over."""
        act(engine)
        created = max((run.workload_seen_at or 0.0 for run in engine.known()), default=0.0)
        if created and not passed.is_set() and clock.now() >= created + 0.4:
            threading.Event().wait(max(0.0, created + 1.5 - clock.now()))
            passed.set()

    monkeypatch.setattr(Engine, "_act", slowly)
    monkeypatch.setattr(wanted, "_POD_EVENTS_AFTER", 0.4)
    monkeypatch.setattr(wanted, "_EVENTS_AFTER", 1.4)
    world.cluster.rest()  # no operator
    node, job = world.node(prolog_deadline=8.0), world.job()
    hook = node.prolog(job)
    assert passed.wait(PATIENCE)
    eventually(lambda: world.calls("events_of"))
    world.cluster.play()
    assert hook.exit() == 0
    assert node.epilog(job).exit() == 0
