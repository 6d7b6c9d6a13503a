"""SIGTERM at the batch script: the run ends at once, and what is told of it is what Slurm did."""

from dataclasses import replace

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Outcome, Phase, Workload
from bridge.job.pods import PodFacts

from .clients import OTHER, OWNER
from .story import Story, batch, ended, member, pod, ready, record
from .world import World

ROOT = 0


def stopped(nodes: int = 2) -> Story:
    """A run whose script was told to end while its training ran."""
    story = batch(nodes).created().sees(*(ready(rank) for rank in range(nodes)))
    return story.tell(events.StopAsked(story.at))


def dying(rank: int, code: int = 143) -> PodFacts:
    """A pod that was deleted, and whose container has ended by it."""
    return replace(ended(rank, code), deleting=True)


def outcome(story: Story) -> Outcome:
    found = story.outcome()
    assert found is not None
    return found


def test_the_workload_is_deleted_at_once_and_the_output_followed_to_its_end() -> None:
    story = stopped()
    (delete,) = story.wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.uid == "job-uid"
    story.tell(events.WorkloadDeleted(story.at, "job-uid")).workload(deleting=True)
    assert not story.wants(do.DeleteWorkload) and story.outcome() is None
    assert len(story.wants(do.FollowLog)) == 2
    story.sees(dying(0))
    assert story.outcome() is None, "rank 1 may still have something to say"
    story.tell(events.PodGone(story.at, 1, "pod-1"))
    assert outcome(story).exit_code == 143 and outcome(story).fault == "ended-by-slurm"
    assert len(story.wants(do.FollowLog)) == 2
    assert story.replayed() == story.run


def test_nothing_of_it_is_before_slurm_asks() -> None:
    story = batch().created().sees(ready(0), ready(1))
    assert not story.wants(do.DeleteWorkload) and not story.wants(do.LearnJob)


@pytest.mark.parametrize(
    ("states", "why"),
    [
        ({"CANCELLED", "COMPLETING"}, "cancelled"),
        ({"TIMEOUT", "COMPLETING"}, "time limit"),
        ({"PREEMPTED", "COMPLETING"}, "preempted"),
        ({"PENDING"}, "requeued"),
        ({"RUNNING"}, "SIGTERM (scancel --batch, or --signal)"),
    ],
)
def test_slurmctld_says_why(states: set[str], why: str) -> None:
    story = stopped()
    assert story.wants(do.LearnJob)
    story.tell(events.JobLearned(story.at, record(states=frozenset(states))))
    assert not story.wants(do.LearnJob)
    story.sees(dying(0), dying(1))
    assert outcome(story).reason == f"ended: Slurm ended the job while its training ran: {why}"
    assert story.run.sentence.startswith(outcome(story).reason), "it is not that somebody deleted the workload"


def test_without_an_answer_of_slurmctld_it_is_told_all_the_same() -> None:
    story = stopped().tell(events.Failed(100.0, "learn", "no route")).sees(dying(0), dying(1))
    assert outcome(story).reason.endswith("while its training ran: scancel, time limit or preemption")
    assert not story.wants(do.LearnJob)


def test_a_rank_that_fails_by_the_signal_is_no_failure_of_its_own() -> None:
    """Its container may have ended before its pod is seen to be deleted."""
    story = stopped(1).sees(ended(0, 1))
    assert outcome(story).exit_code == 143


def test_a_rank_that_failed_before_is_what_ended_the_run() -> None:
    story = batch().created().sees(ready(0), ready(1)).sees(ended(1, 3))
    story.tell(events.StopAsked(story.at)).sees(dying(0))
    assert (outcome(story).exit_code, outcome(story).rank) == (3, 1)


def test_a_training_that_had_ended_stays_as_it_was() -> None:
    story = batch(1).created().sees(ended(0, 0)).tell(events.StopAsked(100.0))
    assert outcome(story).exit_code == 0
    assert not story.wants(do.DeleteWorkload)


def test_a_node_that_is_not_the_batch_node_ends_it_too_where_attach_is_there() -> None:
    story = member().began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(1))
    story.tell(events.GateOpened(100.0, "pod-1")).sees(ready(1)).tell(events.Attached(100.0))
    story.tell(events.StopAsked(100.0))
    assert story.wants(do.DeleteWorkload) and not story.wants(do.LearnJob)


def test_an_epilog_that_comes_first_does_not_forget_why() -> None:
    story = stopped().tell(events.EpilogBegan(100.0))
    assert outcome(story).fault == "ended-by-slurm"
    assert story.run.phase is Phase.RELEASE


# -- over the socket


@pytest.mark.parametrize("uid", [OWNER, ROOT])
def test_owner_and_root_may_end_it(world: World, uid: int) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    attach = node.attach(job)
    world.says(job, 0, "still training")
    attach.until(lines=1)
    node.peer_uid = uid
    assert node.ask(verb="stop", job=7, restart=0) == {"kind": "stopping"}
    assert attach.exit() == 143
    assert attach.lines == [(0, "still training")]
    world.left_nothing()
    assert node.run(job).phase is Phase.RUNNING, "before any epilog"
    node.until(lambda run: run.workload is Workload.GONE, job)  # its watch may tell later than that of the pods
    assert node.epilog(job).exit() == 0


def test_nobody_else_may(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.peer_uid = OTHER
    assert "job 7 has no run of yours on this node" in node.ask(verb="stop", job=7)["sentence"]
    node.peer_uid = OWNER
    assert node.ask(verb="stop", job=8)["kind"] == node.ask(verb="stop")["kind"] == "error"
    assert not node.run(job).stop_asked and not world.is_empty


def test_a_daemon_killed_after_the_order_carries_it_out(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.perils.strike_after("stop_asked")
    node.ask(verb="stop", job=7)
    node.until(lambda run: run.outcome is not None, job)
    assert node.lives == 1 and node.run(job).stop_asked
    world.left_nothing()
