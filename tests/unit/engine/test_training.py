"""While the script runs: outcome, exit code, reason."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Phase
from bridge.job.pods import Ended, PodFacts

from .story import Story, batch, ended, member, pod, ready


def running(nodes: int = 2) -> Story:
    """A run whose pods are all ready."""
    return batch(nodes).created().sees(*(ready(rank) for rank in range(nodes)))


def test_all_ranks_well() -> None:
    story = running().sees(ended(0, 0))
    assert story.outcome() is None
    story.sees(ended(1, 0))
    assert story.run.outcome is not None and story.run.outcome.exit_code == 0
    assert story.run.sentence == "finished: 2/2 ranks exited 0; ready after 0 s"


def test_first_failing_rank_wins_and_the_one_killed_for_it_does_not_count() -> None:
    story = running().sees(ended(1, 3))
    assert story.outcome() is None, "a failure of the same moment may still come"
    story.sees(pod(0, gate=None, node="compute1", deleting=True, ended=Ended(143, "Error", "", "2026-01-01T00:00:04Z")))
    assert story.run.outcome is not None
    assert (story.run.outcome.exit_code, story.run.outcome.rank) == (3, 1)
    assert story.run.sentence == "failed: rank 1 on compute2 exited 3 (Error); ready after 0 s"


def test_failure_is_known_after_the_grace_while_others_go_on() -> None:
    story = running().sees(ended(1, 3)).after(1.3)
    assert story.run.outcome is not None and story.run.outcome.exit_code == 3


@pytest.mark.parametrize(
    "later",
    [pod(1), ready(1), ended(1, 0), replace(pod(1), uid="its-successor"), replace(ended(1, 0), uid="its-successor")],
    ids=["before-its-gate", "while-it-ran", "another-end", "its-successor", "its-successors-end"],
)
def test_a_failure_that_was_seen_stays_one(later: PodFacts) -> None:
    """A watch of an API server that lags behind goes back in time, and somebody may make the pod again."""
    story = running().sees(ended(1, 3)).sees(later)
    assert (story.run.pods[1].uid, story.run.pods[1].node, story.run.pods[1].running) == ("pod-1", "compute2", False)
    outcome = story.after(1.3).run.outcome
    assert outcome is not None and (outcome.exit_code, outcome.rank) == (3, 1)


def test_in_the_same_second_the_telling_code_wins() -> None:
    story = running().sees(ended(0, 1)).sees(ended(1, 3))
    assert story.run.outcome is not None and story.run.outcome.exit_code == 3


def test_an_earlier_failure_wins_although_it_is_told_later() -> None:
    story = running().sees(ended(0, 5)).sees(ended(1, 1, finished_at="2026-01-01T00:00:03Z"))
    assert story.run.outcome is not None and story.run.outcome.exit_code == 1


def test_signal() -> None:
    story = running(1).sees(ended(0, 139))
    assert story.run.outcome is not None
    assert story.run.outcome.exit_code == 139
    assert "signal 11" in story.run.outcome.reason


def test_a_code_that_is_no_signals_is_told_as_it_is() -> None:
    """255 is what Python's sys.exit(-1) comes to."""
    outcome = running(1).sees(ended(0, 255)).outcome()
    assert outcome is not None and outcome.exit_code == 255
    assert "rank 0 on compute1 exited 255" in outcome.reason


def test_an_eviction_is_no_exit_of_the_training_although_its_container_has_one() -> None:
    told = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi"
    outcome = running(1).sees(replace(ended(0, 137), failure="Evicted", failure_message=told)).outcome()
    assert outcome is not None and (outcome.exit_code, outcome.fault) == (75, "evicted-for-storage")


def test_out_of_memory_is_told_as_such() -> None:
    story = running(1).sees(ended(0, 137, reason="OOMKilled"))
    assert story.run.outcome is not None and story.run.outcome.exit_code == 75
    assert "ran out of memory" in story.run.outcome.reason


def test_a_pod_deleted_while_it_ran_fails_the_run() -> None:
    story = running().tell(events.PodGone(100.0, 1, "pod-1"))
    assert story.run.outcome is not None and story.run.outcome.exit_code == 75
    assert "was deleted while it ran" in story.run.outcome.reason


@pytest.mark.parametrize(
    "last",
    [
        lambda story: story.tell(events.PodGone(100.0, 1, "pod-1")),
        lambda story: story.sees(replace(pod(1), uid="its-successor")),
    ],
    ids=["gone", "replaced-while-nobody-watched"],
)
def test_a_pod_whose_training_ended_by_its_deletion_fails_the_run(last: Callable[[Story], Story]) -> None:
    """The signal that ends it is not the training's own end, but there will be no other one."""
    story = running().sees(replace(ended(1, 143), deleting=True))
    assert story.outcome() is None
    outcome = last(story).outcome()
    assert outcome is not None and (outcome.fault, outcome.exit_code, outcome.rank) == ("pod-deleted", 75, 1)


def test_a_workload_deleted_while_it_ran_fails_the_run() -> None:
    story = running().workload(deleting=True)
    assert story.run.outcome is not None and story.run.outcome.exit_code == 75


def test_an_evicted_pod_is_no_fault_of_the_training() -> None:
    gone = pod(1, gate=None, node="compute2", phase="Failed", failure="Evicted", failure_message="disk pressure")
    story = running().sees(gone)
    assert story.run.outcome is not None and story.run.outcome.exit_code == 75
    assert "Evicted: disk pressure" in story.run.outcome.reason


def test_output_is_followed_from_the_containers_start_until_the_epilog() -> None:
    story = batch().created().sees(pod(0), ended(1, 0))
    assert [item.rank for item in story.wants(do.FollowLog) if isinstance(item, do.FollowLog)] == [1]
    story.sees(ready(0))
    assert len(story.wants(do.FollowLog)) == 2
    story.tell(events.EpilogBegan(story.at))
    assert not story.wants(do.FollowLog)


def test_above_sixteen_nodes_rank_zero_and_the_failing_one_are_followed() -> None:
    story = batch(17).created().sees(*(ready(rank) for rank in range(17)))
    assert len(story.wants(do.FollowLog)) == 1
    story.sees(ended(9, 4)).after(2)
    assert {item.rank for item in story.wants(do.FollowLog) if isinstance(item, do.FollowLog)} == {0, 9}


def test_a_member_follows_everything_once_attach_runs_on_it() -> None:
    story = member().began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(1))
    story.tell(events.GateOpened(100.0, "pod-1")).sees(ready(1))
    assert story.run.phase is Phase.RUNNING
    assert not story.wants(do.WatchPods)
    story.tell(events.Attached(100.0))
    (watch,) = story.wants(do.WatchPods)
    assert isinstance(watch, do.WatchPods) and watch.pod == ""
    story.sees(ended(0, 0), ended(1, 0))
    assert story.run.outcome is not None
    assert not story.wants(do.Report), "only the batch node reports"


def test_a_pod_that_was_replaced_while_nobody_watched_fails_the_run() -> None:
    story = running(1).sees(pod(0, uid="another"))
    outcome = story.outcome()
    assert outcome is not None and outcome.exit_code == 75
    assert not story.wants(do.OpenGate), "the successor stays behind its gate"
