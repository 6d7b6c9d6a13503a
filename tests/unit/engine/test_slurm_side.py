"""Slurm's side of a run that does not end well, told by an event of its PyTorchJob."""

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.errors import Forbidden, Unavailable
from bridge.kube.api import Object
from tests.fakes.kubernetes import FakeKubernetes

from .story import Story, batch, ended, member, ready, record
from .trying import work
from .world import NAMESPACE, World

REASONS = ("SlurmJobGivenUp", "SlurmJobStopped", "SlurmJobFailed")


def told(story: Story) -> tuple[str, str]:
    """Reason and sentence of the one event that is wanted."""
    (side,) = story.wants(do.TellSlurmSide)
    assert isinstance(side, do.TellSlurmSide) and side.uid == "job-uid"
    return side.reason, side.sentence


def running(nodes: int = 2) -> Story:
    return batch(nodes).created().sees(*(ready(rank) for rank in range(nodes)))


def heard(kube: FakeKubernetes) -> list[Object]:
    return [event for reason in REASONS for event in kube.events_because(NAMESPACE, reason)]


def test_a_run_that_ends_well_tells_nothing() -> None:
    story = running()
    assert not story.wants(do.TellSlurmSide)
    story.sees(ended(0, 0), ended(1, 0))
    assert story.outcome() is not None and not story.wants(do.TellSlurmSide)
    story.tell(events.EpilogBegan(story.at))
    assert not story.wants(do.TellSlurmSide)


def test_a_script_that_ends_before_its_training_tells_nothing() -> None:
    story = running().tell(events.EpilogBegan(200.0))
    assert not story.wants(do.TellSlurmSide)


def test_a_prolog_that_gave_up_says_why() -> None:
    story = batch(1).created().tell(events.Refused(20.0, "the quota is used up", "quota"))
    why = "the prolog gave up, verdict job: failed: the quota is used up"
    assert told(story) == ("SlurmJobGivenUp", why)
    story.tell(events.EpilogBegan(21.0))
    assert told(story) == ("SlurmJobGivenUp", why), "the same, so it is not told again"


def test_a_run_without_a_workload_has_nothing_to_tell_of() -> None:
    story = batch(1).began().tell(events.JobUnknown(20.0))
    assert story.judgement() is not None and not story.wants(do.TellSlurmSide)


def test_a_job_that_ends_while_it_waits_was_stopped() -> None:
    story = batch(1).created().tell(events.JobLearned(20.0, record(1, states=frozenset({"CANCELLED"}))))
    reason, sentence = told(story)
    assert reason == "SlurmJobStopped" and "the job is over" in sentence


def test_a_job_that_is_stopped_says_by_what_once_slurm_has_said_it() -> None:
    story = running().tell(events.StopAsked(100.0))
    assert not story.wants(do.TellSlurmSide)
    story.tell(events.JobLearned(100.1, record(2, states=frozenset({"TIMEOUT", "COMPLETING"}))))
    reason, sentence = told(story)
    assert reason == "SlurmJobStopped" and sentence.endswith("while its training ran: time limit")


def test_where_slurm_cannot_be_asked_it_says_so_at_once() -> None:
    story = running().tell(events.NotReporting(99.0, "no token")).tell(events.StopAsked(100.0))
    reason, sentence = told(story)
    assert reason == "SlurmJobStopped" and "scancel, time limit or preemption" in sentence


def test_at_the_epilog_it_says_what_is_known() -> None:
    story = running().tell(events.StopAsked(100.0)).tell(events.EpilogBegan(101.0))
    reason, sentence = told(story)
    assert reason == "SlurmJobStopped" and "scancel, time limit or preemption" in sentence


def test_a_training_that_failed_says_how() -> None:
    story = running(1).sees(ended(0, 3))
    outcome = story.outcome()
    assert outcome is not None and told(story) == ("SlurmJobFailed", outcome.reason)


def test_only_the_batch_node_tells() -> None:
    story = member().began().tell(events.NodeProven(101.0)).workload().sees(ready(1))
    story.tell(events.Attached(103.0)).tell(events.StopAsked(104.0)).tell(events.EpilogBegan(105.0))
    assert story.run.stop_asked and story.run.workload_uid and not story.wants(do.TellSlurmSide)


def test_a_training_that_was_over_before_slurm_asked_tells_how_it_ended() -> None:
    well = running(1).sees(ended(0, 0)).tell(events.StopAsked(101.0))
    assert well.outcome() is not None and not well.wants(do.TellSlurmSide)
    badly = running(1).sees(ended(0, 3)).tell(events.StopAsked(101.0))
    assert told(badly)[0] == "SlurmJobFailed"


@pytest.mark.parametrize("reason", REASONS)
def test_it_is_told_once_of_the_workload_in_few_words(reason: str) -> None:
    kube, story = FakeKubernetes(), batch(1).created()
    for sentence in ("é" * 2000, "something else"):
        assert work(kube, do.TellSlurmSide("job-uid", reason, sentence), story) is None
    (event,) = heard(kube)
    about = event["involvedObject"]
    assert (about["kind"], about["name"], about["uid"]) == ("PyTorchJob", story.run.name, "job-uid")
    assert event["reason"] == reason and event["source"]["host"] == "compute1"
    assert event["message"] == "é" * 500


@pytest.mark.parametrize("fault", [Unavailable("away"), Forbidden("denied", status=403)])
def test_one_that_is_lost_is_no_fault(fault: Exception) -> None:
    kube, story = FakeKubernetes(), batch(1).created()
    kube.faults.fail("create_event", fault)
    assert work(kube, do.TellSlurmSide("job-uid", REASONS[0], "why"), story) is None
    assert not heard(kube)


def test_a_run_that_is_stopped_tells_it_and_one_that_ends_well_does_not(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.ends(job, 0)
    assert node.attach(job).exit() == 0 and node.epilog(job).exit() == 0
    assert not heard(world.kube)
    other = world.job(id=8)
    world.running(node, other)
    assert node.ask(verb="stop", job=8, restart=0) == {"kind": "stopping"}
    node.until(lambda run: run.outcome is not None, other)
    assert node.epilog(other).exit() == 0
    assert [event["reason"] for event in heard(world.kube)] == ["SlurmJobStopped"]


def test_an_epilog_does_not_wait_for_it(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.kube.faults.fail("create_event", Unavailable("away"))
    world.ends(job, 3)
    assert node.attach(job).exit() == 3 and node.epilog(job).exit() == 0
    world.left_nothing()
    assert not heard(world.kube)
