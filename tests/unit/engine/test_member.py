"""The prolog of a node that is not the batch node: it waits for its own pod, and leaves the rest to that one."""

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Answer

from .story import member, pod


def test_a_member_lets_go_when_no_workload_comes_and_keeps_its_consent() -> None:
    story = member().began().after(9.9)
    assert story.answer() is None
    story.after(0.2)
    assert story.run.prolog_answer == Answer(0)
    story.tell(events.NodeProven(story.at, 2)).workload().sees(pod(1))
    assert story.wants(do.OpenGate), "a late workload still finds its gate opened"


def test_a_member_lets_go_when_the_workload_is_taken_back() -> None:
    story = member().began().workload()
    assert story.answer() is None
    story.workload(deleting=True)
    assert story.run.prolog_answer is not None and story.run.prolog_answer.exit == 0


def test_a_member_is_not_drained_for_a_fault_that_all_share() -> None:
    story = member().began().tell(events.ServerDown(100.0, "the API server has been away for 10 min", "api-down"))
    assert story.run.prolog_answer == Answer(0, "the API server has been away for 10 min")


def test_a_member_at_fault_neither_tells_slurmctld_nor_takes_the_workload_away() -> None:
    """Its batch node does both, where the fault is not this node's alone."""
    story = member().began().workload().sees(pod(1))
    story.tell(events.NodeAccused(story.at, "the Node compute2 is another machine")).counted()
    assert story.judgement() is not None and story.run.reporting
    assert not story.wants(do.Report) and not story.wants(do.DeleteWorkload)


def test_a_member_asks_neither_slurmctld_nor_the_whole_gang() -> None:
    story = member().began().workload()
    assert not story.wants(do.LearnJob) and not story.wants(do.PollJob)
    (watch,) = story.wants(do.WatchPods)
    assert isinstance(watch, do.WatchPods) and watch.pod == "slurm-demo-7-0-worker-1"
