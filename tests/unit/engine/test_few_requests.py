"""What a run does not ask the API server for, since it has been told; and that 10,000 nodes do not ask all at once."""

import copy
import random
from collections.abc import Iterator
from threading import Event

import pytest

from bridge import clock, wellknown
from bridge.engine import activities as do
from bridge.engine import events, executor, node_reading
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.crowd import member_patience
from bridge.engine.executor import Executor, Task
from bridge.engine.logs import LogHub
from bridge.engine.node_reading import NodeReadings
from bridge.engine.node_work import NodeWork
from bridge.engine.replacing import replace
from bridge.engine.state import Phase, Unattended, new_run
from bridge.errors import NotFound, Unavailable
from bridge.kube.api import Observation, Selector
from tests.fakes.kubelet import FakeKubelet
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, Story, allocation, batch, member, ready
from .trying import pod_object, work

NAMESPACE = CONFIG.kubernetes.namespace
NODE = {
    "metadata": {"name": "compute2"},
    "status": {"nodeInfo": {"bootID": "boot"}, "allocatable": {"nvidia.com/gpu": "2"}},
}


# -- the proof of release


def proving(gone: events.PodGone) -> str:
    """The pod that the proof asks for by its name, after this was told of it."""
    story = batch(1).created().sees(ready(0))
    story.tell(events.EpilogBegan(story.at)).tell(events.WorkloadDeleted(story.at, "job-uid"))
    (prove,) = story.tell(gone).wants(do.ProveGone)
    assert isinstance(prove, do.ProveGone)
    return prove.pod


def test_a_pod_whose_deletion_was_told_is_not_asked_for() -> None:
    assert proving(events.PodGone(100.0, 0, "pod-0", proven=True)) == ""


def test_a_pod_that_only_left_our_sight_is_asked_for() -> None:
    assert proving(events.PodGone(100.0, 0, "pod-0")) == "slurm-demo-7-0-worker-0"


def test_each_pod_that_was_ever_let_through_here_must_be_proven_gone() -> None:
    story = batch(1).created().sees(ready(0)).tell(events.GateOpened(100.0, "pod-0"))
    story.tell(events.PodGone(100.0, 0, "another", proven=True))
    assert not story.run.own_pods_gone
    assert not batch(1).created().run.own_pods_gone, "a pod that nobody saw is not proven gone"


def test_a_pod_without_its_labels_is_found_on_its_node() -> None:
    kube, story = FakeKubernetes(), batch(1).created().sees(ready(0))
    prove = do.ProveGone(story.run.name, "", "compute1", 0)
    stripped = pod_object("pod-0")
    stripped["metadata"]["labels"] = {}
    kube.put("pod", stripped)
    assert isinstance(work(kube, prove, story), events.PodsRemain)
    kube.put("pod", pod_object("of another run", **{wellknown.LABEL_RUN: "slurm-demo-8-0"}))
    assert isinstance(work(kube, prove, story), events.PodsClear)
    kube.put("pod", pod_object("never seen"))
    assert isinstance(work(kube, prove, story), events.PodsRemain)
    assert "pod" not in kube.faults.calls


def test_a_pod_that_is_bound_to_no_node_is_found_by_its_name() -> None:
    """It may still be let through."""
    kube, story = FakeKubernetes(), batch(1).created()
    prove = do.ProveGone(story.run.name, "slurm-demo-7-0-worker-0", "compute1", 0)
    kube.put("pod", pod_object("pod-0", node=""))
    assert isinstance(work(kube, prove, story), events.PodsRemain)
    kube.remove("pod", NAMESPACE, "slurm-demo-7-0-worker-0")
    assert isinstance(work(kube, prove, story), events.PodsClear)


def test_a_pod_that_is_not_there_when_it_is_deleted_is_proven_gone() -> None:
    story = member().began()
    event = work(FakeKubernetes(), do.DeletePod("slurm-demo-7-0-worker-1", "pod-1", 0), story)
    assert isinstance(event, events.PodGone) and event.proven


class Watched(FakeKubernetes):
    """Its watches end at once; it keeps whether each was to begin with what is there now."""

    def __init__(self) -> None:
        super().__init__()
        self.current: list[bool] = []

    def watch_pods(
        self, namespace: str, selector: Selector, stop: Event, current: bool = True
    ) -> Iterator[Observation]:
        del namespace, selector, stop
        self.current.append(current)
        return iter(())


def test_only_a_release_is_content_with_what_the_api_server_remembers() -> None:
    """It has `ProveGone`. A prolog has none; nor has what a daemon without a journal found."""
    kube = Watched()
    work = ClusterWork(CONFIG, kube, LogHub(kube), tuple).works()[do.WatchPods]
    live = member().began().run
    released = replace(live, phase=Phase.RELEASE)
    for run in (live, released, replace(released, unattended=Unattended())):
        work(Task(run, do.WatchPods(run.name, run.own_pod_name), lambda _event: None))
    assert kube.current == [True, False, True]


@pytest.mark.parametrize(("count", "second", "last"), [(64, 1.01, 1.63), (1024, 1.16, 164.68)])
def test_where_the_batch_node_is_away_the_others_delete_one_after_another(
    count: int, second: float, last: float
) -> None:
    nodes = tuple(f"compute{number}" for number in range(count))
    patience = [member_patience(new_run(CONFIG, allocation(nodes, node), 0.0)) for node in nodes]
    assert patience == sorted(patience)
    assert [patience[0], patience[1], patience[-1]] == pytest.approx([1.0, second, last])


# -- the Node


class Asked:
    """A member's node work and the pulse's reading of its Node."""

    def __init__(self) -> None:
        self.kube = FakeKubernetes()
        self.kube.put("node", copy.deepcopy(NODE))
        self.readings = NodeReadings(self.kube)
        node = NodeWork(CONFIG, self.kube, FakeKubelet(), str, "boot", readings=self.readings)
        self._work = node.works()[do.ProveNode]

    def questions(self, story: Story) -> int:
        """How often the API server was asked for the proof of a run."""
        before = self.kube.faults.calls.count("node")
        self._work(Task(story.run, do.ProveNode("compute2", 0), lambda _event: None))
        return self.kube.faults.calls.count("node") - before


def test_a_member_takes_what_its_node_has_just_said() -> None:
    asked = Asked()
    assert asked.questions(member().began()) == 1
    assert asked.questions(member().began()) == 0


def test_the_batch_node_asks_anew() -> None:
    asked = Asked()
    asked.readings.take("compute2")
    assert asked.questions(batch(1).began()) == 1


def test_what_was_said_too_long_ago_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    asked.readings.take("compute2")
    later = clock.now() + node_reading.LASTS
    monkeypatch.setattr(clock, "now", lambda: later)
    assert asked.questions(member().began()) == 1


@pytest.mark.parametrize(
    "status",
    [
        {"nodeInfo": {"bootID": "another"}, "allocatable": {"nvidia.com/gpu": "2"}},
        {"nodeInfo": {"bootID": "boot"}, "allocatable": {"nvidia.com/gpu": "1"}},
    ],
)
def test_only_what_is_good_is_taken_from_before(status: dict[str, object]) -> None:
    asked = Asked()
    asked.kube.put("node", NODE | {"status": status})
    asked.readings.take("compute2")
    asked.kube.put("node", copy.deepcopy(NODE))
    assert asked.questions(member().began()) == 1


def test_a_node_that_is_gone_or_does_not_answer_is_not_remembered() -> None:
    asked = Asked()
    for name, error in (("none", NotFound), ("compute2", Unavailable)):
        asked.readings.take("compute2")
        asked.kube.faults.outage = Unavailable("no") if error is Unavailable else None
        with pytest.raises(error):
            asked.readings.take(name)
        asked.kube.faults.outage = None
        assert asked.readings.recent("compute2") is None


# -- all nodes at once


def test_what_a_thousand_nodes_begin_with_is_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda _least, most: most)
    nodes = tuple(f"compute{number}" for number in range(1, 1025))
    for node, activity, spread in (
        ("compute7", do.WatchPods("w", "p"), 4.352),
        ("compute7", do.WatchWorkload("w"), 0.512),
        ("compute7", do.LookForWorkload("w", 1, 0), 0.512),
        ("compute7", do.OpenGate("p", "u", "[]", 0), 0.0),
        ("compute1", do.WatchPods("w", ""), 0.0),
    ):
        run = new_run(CONFIG, allocation(nodes, node), 0.0)
        assert executor._spread(Task(run, activity, lambda _event: None)) == pytest.approx(spread)


def test_the_end_of_a_large_run_is_spread_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda _least, most: most)
    nodes = tuple(f"compute{number}" for number in range(1, 1025))
    run = replace(new_run(CONFIG, allocation(nodes, "compute7"), 0.0), phase=Phase.RELEASE)
    for activity, spread in ((do.WatchPods("w", "p"), 10.112), (do.WatchWorkload("w"), 0.512)):
        assert executor._spread(Task(run, activity, lambda _event: None)) == pytest.approx(spread)


PROVE, REPORT = do.ProveGone("w", "p", "n", 0), do.Report("what there is to tell", 0)


@pytest.mark.parametrize(
    ("nodes", "activity", "longest"),
    [(1, PROVE, 5.0), (64, PROVE, 5.0), (1024, PROVE, 20.48), (1, REPORT, 60.0), (1024, REPORT, 60.0)],
)
def test_the_more_nodes_ask_the_later_each_asks_again(
    monkeypatch: pytest.MonkeyPatch, nodes: int, activity: do.Activity, longest: float
) -> None:
    monkeypatch.setattr(random, "uniform", lambda _least, _most: 1.0)
    monkeypatch.setattr(executor, "_FIRST_DELAY", 0.1)
    run = new_run(CONFIG, allocation(tuple(f"compute{number}" for number in range(1, nodes + 1)), "compute1"), 0.0)
    task = Task(run, activity, lambda _event: None)
    delays = [executor._delay(task, faults) for faults in range(1, 12)]
    assert delays[:3] == pytest.approx([0.1, 0.2, 0.4])
    assert delays[-1] == pytest.approx(longest)


def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    """Whatever the next try is a try of; another server or another pod has asked for nothing."""
    run, told = batch(1).began().run, list[events.Event]()

    def busy(_task: Task) -> None:
        raise Unavailable("too many requests", status=429, retry_after=30.0)

    starting = Executor({do.CreateWorkload: busy}, lambda _run, event, _ended: told.append(event))
    create = Task(run, do.CreateWorkload("{}", 0), told.append)
    assert starting._wait(create, 0) == 0.0
    starting._run(create)
    assert 29.0 < starting._wait(create, 1) <= 35.0
    assert 29.0 < starting._wait(Task(run, do.DeleteWorkload("w", "", 0), told.append), 0) <= 35.0
    assert starting._wait(Task(run, do.OpenGate("p", "u", "[]", 0), told.append), 0) == 0.0
