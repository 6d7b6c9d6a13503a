"""A node that is not the batch node waits for its own pod and hears of the workload by it: what the workload's own
watch tells grows with the pods of the run, and is told only in the epilog."""

import copy
from dataclasses import replace

import pytest

from bridge import wellknown
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.executor import Task
from bridge.engine.logs import LogHub
from bridge.engine.state import Answer, Phase, Run, Workload
from bridge.engine.wanted import next_wake, wanted
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, START, Story, allocation, member, pod, ready

NAMESPACE = CONFIG.kubernetes.namespace
WORKLOAD = {
    "metadata": {
        "name": "slurm-demo-7-0",
        "namespace": NAMESPACE,
        "uid": "job-uid",
        "annotations": {wellknown.ANNOTATION_START: str(START)},
    },
    "spec": {"pytorchReplicaSpecs": {}},
}


def waiting() -> Story:
    """In the prolog, its own node proven."""
    return member().began().tell(events.NodeProven(100.0, 2))


def looks(story: Story) -> list[int]:
    """By their numbers."""
    return [look.number for look in story.wants(do.LookForWorkload) if isinstance(look, do.LookForWorkload)]


def test_it_watches_its_own_pod_alone_until_that_is_gone() -> None:
    story = waiting()
    assert [watch.pod for watch in story.wants(do.WatchPods) if isinstance(watch, do.WatchPods)] == [
        story.run.own_pod_name
    ]
    assert not story.wants(do.WatchWorkload)
    story.sees(ready(1)).tell(events.GateOpened(story.at, "pod-1"))
    assert not story.wants(do.WatchPods)
    story.tell(events.EpilogBegan(story.at))
    assert story.wants(do.WatchPods) and not story.wants(do.WatchWorkload)
    story.tell(events.PodGone(story.at, 1, "pod-1", proven=True))
    assert story.wants(do.LookForWorkload) and not story.wants(do.WatchWorkload)
    story.workload(deleting=True)
    assert not story.wants(do.LookForWorkload) and not story.wants(do.WatchWorkload)


def test_where_its_pod_does_not_come_it_looks_for_the_workload() -> None:
    story = waiting()
    assert not looks(story) and story.wake is not None and story.wake <= 8.0
    assert looks(story.after(8.0)) == [1]
    story.workload()
    assert story.after(3.0).answer() is None  # the workload is there
    assert story.wake is not None and story.wake <= 7.0
    assert looks(story.after(7.0)) == [2]
    story.sees(pod(1))
    assert not looks(story)


def test_a_thousand_nodes_look_once_and_then_take_turns() -> None:
    """The operator may need a minute for so many pods, and an API server that all of them ask makes it two."""
    nodes = tuple(f"n{number}" for number in range(1024))
    began = waiting().run
    assert began.allocation is not None
    numbers = []
    for rank in (1, 511, 1023):
        run = replace(began, nodes=nodes, allocation=replace(began.allocation, nodes=nodes, node=nodes[rank]))
        first = 8.0 + 9.6 * (rank + 1) / 1024
        assert (run.rank, _looked_by(run, first - 0.01), _looked_by(run, first + 0.01)) == (rank, 0, 1)
        assert next_wake(CONFIG, run, run.began) == pytest.approx(run.began + first)
        numbers.append([_looked_by(run, seconds) for seconds in (60.0, 130.0, 177.7, 340.0)])
        wake = next_wake(CONFIG, run, run.began + 60.0)
        assert wake is not None and _looked_by(run, wake - run.began) >= _looked_by(run, 60.0)
    assert numbers == [[2, 2, 2, 4], [1, 2, 2, 3], [1, 1, 2, 3]]


def _looked_by(run: Run, seconds: float) -> int:
    """How often it wants to have looked by then."""
    (number,) = [look.number for look in wanted(run, run.began + seconds) if isinstance(look, do.LookForWorkload)] or [
        0
    ]
    return number


def test_a_workload_that_never_came_keeps_nobody() -> None:
    story = waiting().after(9.9)
    assert story.answer() is None
    assert story.after(0.2).answer() == Answer(0)


def test_a_thousand_nodes_wait_longer_for_a_workload_that_never_comes() -> None:
    """Until each of them has looked for it, which they do one after the other."""
    nodes = tuple(f"compute{number}" for number in range(1, 1025))
    story = Story(allocation(nodes, "compute2")).began().tell(events.NodeProven(100.0, 2))
    assert story.after(19.5).answer() is None
    assert story.after(0.2).answer() == Answer(0)


def test_a_workload_that_was_taken_back_keeps_nobody() -> None:
    for told in (events.WorkloadGone(120.0), events.PodGone(120.0, 1, "pod-1")):
        story = waiting().workload()
        if isinstance(told, events.PodGone):
            story.sees(pod(1))
        assert story.answer() is None
        assert story.tell(told).answer() == Answer(0)
    assert waiting().sees(pod(1)).sees(pod(1, deleting=True)).answer() == Answer(0)


def test_a_pod_that_came_and_went_unseen_keeps_nobody() -> None:
    """Its watch was broken while the training failed; the operator makes no other pod of a workload that has failed."""
    story = waiting().workload()
    assert story.answer() is None
    assert story.workload(failed=True).answer() == Answer(0)


def test_what_is_gone_does_not_come_back_with_a_late_answer() -> None:
    story = waiting().sees(replace(ready(1), owner="job-uid")).tell(events.EpilogBegan(101.0))
    story.tell(events.WorkloadGone(101.0)).tell(events.WorkloadDeleted(101.0, "job-uid"))
    assert story.run.workload is Workload.GONE


def test_its_epilog_knows_by_the_pod_what_to_delete_and_to_wait_for() -> None:
    story = waiting().sees(replace(ready(1), owner="job-uid"))
    assert (story.run.workload, story.run.workload_uid) == (Workload.LIVE, "job-uid")
    story.tell(events.EpilogBegan(story.at)).tell(events.PodGone(story.at, 1, "pod-1", proven=True))
    assert not story.wants(do.ProveGone)  # the operator could make the pod again
    story.after(1.1)
    assert not story.wants(do.DeleteWorkload)  # the batch node may have done that long ago
    story.workload()
    assert [delete.uid for delete in story.wants(do.DeleteWorkload) if isinstance(delete, do.DeleteWorkload)] == [
        "job-uid"
    ]
    assert story.workload(deleting=True).wants(do.ProveGone)
    assert story.replayed() == story.run


def looked(run: Run, *workloads: dict[str, object]) -> events.Event | None:
    """What a look tells, while this is there."""
    kube = FakeKubernetes()
    for workload in workloads:
        kube.put("workload", copy.deepcopy(workload))
    work = ClusterWork(CONFIG, kube, LogHub(kube), tuple).works()[do.LookForWorkload]
    return work(Task(run, do.LookForWorkload(run.name, 1, 0), lambda _event: None))


def test_what_a_look_tells() -> None:
    new, known = waiting().run, waiting().workload().run
    assert looked(new) is None
    assert isinstance(looked(known), events.WorkloadGone)
    seen = looked(new, WORKLOAD)
    assert isinstance(seen, events.WorkloadSeen) and seen.facts.uid == "job-uid"
    assert looked(known, WORKLOAD) is None  # nothing new
    failed = copy.deepcopy(WORKLOAD)
    failed["status"] = {"conditions": [{"type": "Failed", "status": "True"}]}
    seen = looked(known, failed)
    assert isinstance(seen, events.WorkloadSeen) and seen.facts.failed
    assert looked(waiting().workload(failed=True).run, failed) is None
    ends = replace(known, phase=Phase.RELEASE)
    assert isinstance(looked(ends, WORKLOAD), events.WorkloadSeen), "there it is news that nobody has deleted it"
    assert isinstance(looked(replace(ends, workload_uid="")), events.WorkloadGone)
    older = copy.deepcopy(WORKLOAD)
    older["metadata"]["annotations"] = {wellknown.ANNOTATION_START: str(START - 1)}  # type: ignore[index]
    assert looked(new, older) is None
