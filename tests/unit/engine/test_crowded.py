"""A node has room for so many runs, and a job that finds none is told so."""

import pytest

from bridge.engine import door, reception
from bridge.engine.state import Phase

from .node import eventually
from .world import World


def test_a_node_has_room_for_so_many_runs_and_the_next_waits(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "LIVE_RUNS", 2)
    node, jobs = world.node(), [world.job(id=number, gpus=0) for number in (7, 8, 9)]
    for job in jobs[:2]:
        world.running(node, job)
    hook = node.prolog(jobs[2])
    eventually(lambda: node.engine.waiting_hooks == 1)
    assert [key.job_id for key in node.engine.runs] == [7, 8]
    world.running(node, jobs[0])  # asks again, and is in
    assert node.epilog(jobs[0]).exit() == 0
    assert hook.exit() == 0
    assert node.run(jobs[2]).phase is Phase.RUNNING


def test_where_no_room_comes_no_node_is_drained_and_nothing_is_left(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "LIVE_RUNS", 1)
    node, first, second = world.node(prolog_deadline=0.5), world.job(id=7, gpus=0), world.job(id=8, gpus=0)
    world.running(node, first)
    answer = node.prolog(second).answer()
    assert (answer["exit"], answer["message"]) == (
        0,
        "this node's bridged has 1 runs already [node-crowded]; submit again later",
    )
    assert node.ask(verb="attach", job=8)["kind"] == "error"
    assert node.epilog(second).answer()["released"] == [8]
    assert node.epilog(first).exit() == 0


def test_a_job_without_room_is_told_so_by_attach(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "LIVE_RUNS", 0)
    node, job = world.node(prolog_deadline=0.05), world.job()
    node.mark(job)
    assert node.prolog(job).exit() == 0
    answer = node.ask(verb="attach", job=job.id)
    assert answer["sentence"] == (
        "job 7 was let go without pods: this node's bridged has 0 runs already [node-crowded]; submit again later "
        "[let-go]; then submit the job again"
    )
    assert node.epilog(job).exit() == 0
    assert node.engine.why_turned_away(job.id) == ""


def test_so_many_jobs_without_room_are_told_why(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "LIVE_RUNS", 0)
    monkeypatch.setattr(reception, "_TURNED_AWAY", 2)
    node = world.node(prolog_deadline=0.05)
    for number in (7, 8, 9):
        assert node.prolog(world.job(id=number)).exit() == 0
    assert [bool(node.engine.why_turned_away(number)) for number in (7, 8, 9)] == [False, True, True]
