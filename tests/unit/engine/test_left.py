"""A prolog hook goes away without an answer: mostly it was killed, but it may have stood still, and come back."""

from collections.abc import Callable

import pytest

from bridge.engine import activities as do
from bridge.engine import events, loop
from bridge.engine.left import is_left
from bridge.engine.state import Answer, Phase, Requeue
from bridge.job.faults import Verdict
from bridge.job.faults.runs import HOOK_AWAY, HOOK_LEFT

from .story import Story, batch, member, pod, ready
from .world import World

TOLD = "try 1 of 3 failed, requeued: the prolog hook stood still for longer than 10 s, so what was made for the job"


def left(story: Story) -> Story:
    """Its hook has not come back in time."""
    return story.tell(events.HookLeft(story.at + 10))


@pytest.mark.parametrize("story", [lambda: batch().created(), lambda: member().began().sees(pod(1))])
def test_who_asks_no_more_is_answered_nothing(story: Callable[[], Story]) -> None:
    waits = left(story()).after(400)
    assert is_left(waits.run) and waits.answer() is None
    assert waits.wake is None and not waits.wants(do.Report)
    waits.tell(events.EpilogBegan(waits.at))
    assert waits.run.phase is Phase.RELEASE and not is_left(waits.run)


def test_what_was_made_is_deleted_at_once_and_slurmctld_is_left_alone() -> None:
    story = left(batch().created())
    assert story.wants(do.DeleteWorkload)
    assert not story.wants(do.PollJob) and not story.wants(do.Report) and not story.wants(do.CancelJob)


def test_the_other_nodes_look_for_nothing_meanwhile() -> None:
    assert not left(member().began()).after(60).wants(do.LookForWorkload)


def test_a_batch_nodes_hook_that_comes_back_puts_the_job_back_and_tells_why() -> None:
    story = left(batch().created()).began()
    judged = story.judgement()
    assert judged is not None and (judged.fault, judged.verdict) == (HOOK_AWAY.name, Verdict.SHARED)
    assert story.answer() is None and not story.wants(do.CreateWorkload)
    (report,) = story.wants(do.Report)
    assert isinstance(report, do.Report) and report.sentence.startswith(TOLD)
    story.tell(events.Reported(story.at, report.sentence))
    answer = story.answer()
    assert answer is not None and answer.exit == 0 and answer.requeue == Requeue("7", hold=False)
    assert answer.message == HOOK_AWAY.finding().sentence and answer.output
    assert story.replayed() == story.run


def test_what_comes_of_the_deletion_meanwhile_changes_nothing() -> None:
    story = left(batch().created()).tell(events.WorkloadDeleted(115.0, "job-uid"))
    story.tell(events.WorkloadGone(116.0)).began()
    judged = story.judgement()
    assert judged is not None and judged.fault == HOOK_AWAY.name
    assert not story.wants(do.CreateWorkload)


def test_another_nodes_hook_that_comes_back_goes_on_as_if_it_had_never_left() -> None:
    story = member().began().tell(events.NodeProven(100.5, 2))
    left(story).sees(pod(1))
    assert not story.wants(do.OpenGate)
    story.began()
    assert story.judgement() is None and story.run.judged_at is None
    assert story.wants(do.OpenGate)
    assert story.sees(ready(1)).answer() == Answer(0)


def test_one_that_comes_back_twice_is_judged_once() -> None:
    """The daemon began anew before it could answer."""
    story = left(batch().created()).began()
    first = story.judgement()
    story.after(1).began()
    assert story.judgement() == first and story.run.judged_at == story.at - 1


def test_a_run_that_was_answered_is_not_left() -> None:
    story = batch(1).created().sees(ready(0))
    assert story.answer() == Answer(0)
    assert not is_left(left(story).run)


# -- the whole daemon


def test_the_job_of_a_hook_that_stood_still_is_requeued(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 48 of the long run on ae8b5df: it was let go without a word, and without a training."""
    monkeypatch.setattr(loop, "_HOOK_PATIENCE", 0.05)
    node, job = world.node(), world.job("n1", "n2")
    stopped = node.mortal_prolog(job)
    node.until(lambda run: run.workload_uid, job)
    stopped.dies()  # as far as the daemon sees
    node.until(is_left, job)
    hook = node.prolog(job)
    assert hook.exit() == 0
    assert hook.answer()["requeue"] == {"job": "7", "hold": False}
    assert TOLD in world.comment(job)
    assert node.epilog(job).exit() == 0
    world.left_nothing()
    assert world.workloads_ever() == 1


def test_another_nodes_hook_that_stood_still_costs_the_job_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_HOOK_PATIENCE", 0.05)
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    stopped = second.mortal_prolog(job)
    second.until(lambda run: run.phase is Phase.PROLOG, job)
    stopped.dies()
    known = second.until(is_left, job)
    assert known.judgement is not None and known.judgement.fault == HOOK_LEFT.name
    batch_node = first.prolog(job)
    back = second.prolog(job)
    assert [batch_node.exit(), back.exit()] == [0, 0]
    assert first.run(job).judgement is None and second.run(job).judgement is None
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]
    world.left_nothing()
