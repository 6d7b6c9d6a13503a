"""What the watches of a run make of what the API server tells: each of its own objects, and what went unseen."""

import copy
import threading
from collections.abc import Iterator

import pytest

from bridge import clock, wellknown
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Workload
from bridge.kube.api import Change, Observation
from tests.fakes.kubernetes import FakeKubernetes

from .story import START, Story, batch, member, ready
from .trying import NAMESPACE, pod_object, work
from .world import World

WORKLOAD = do.WatchWorkload("slurm-demo-7-0")
PODS = do.WatchPods("slurm-demo-7-0", "")


class Telling(FakeKubernetes):
    """Its watches tell just this, and end."""

    def __init__(self, *changes: Observation) -> None:
        super().__init__()
        self._changes = changes

    def _watch(self, *_: object, **__: object) -> Iterator[Observation]:
        return iter(self._changes)


def heard(activity: do.Activity, story: Story, *changes: Observation) -> list[events.Event]:
    """What a run is told of these changes."""
    posted: list[events.Event] = []
    work(Telling(*changes), activity, story, posted.append)
    return posted


def gone(told: list[events.Event]) -> list[tuple[int, str, bool]]:
    """Rank, uid and proof of each pod that is told to be gone."""
    return [(event.rank, event.uid, event.proven) for event in told if isinstance(event, events.PodGone)]


def test_the_watch_tells_what_was_deleted_and_what_vanished() -> None:
    """Of a pod that vanished in a gap the API server tells nothing; its name and uid are all there is."""
    whole, deleted = pod_object("u"), copy.deepcopy(pod_object("u"))
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    vanished = {"metadata": {"name": "slurm-demo-7-0-worker-0", "namespace": NAMESPACE, "uid": "u"}}
    for last, proven in ((deleted, True), (vanished, False)):
        told = heard(PODS, batch(1).began(), Observation(Change.SEEN, whole), Observation(Change.GONE, last))
        assert gone(told) == [(0, "u", proven)]


@pytest.mark.parametrize("start", [START, START + 60])
def test_the_watch_tells_of_the_workload_of_this_start_alone(start: int) -> None:
    """What has its name may be of a run of before, which is on its way out."""
    other = {"metadata": {"name": "w", "uid": "u", "annotations": {wellknown.ANNOTATION_START: str(start)}}}
    told = heard(WORKLOAD, batch(1).created(), Observation(Change.SEEN, other), Observation(Change.GONE, other))
    assert len(told) == (2 if start == START else 0)


@pytest.mark.parametrize("start", [START, START + 60])
def test_the_watch_tells_of_the_pods_of_this_start_alone(start: int) -> None:
    other = pod_object("u")
    other["metadata"]["annotations"] = {wellknown.ANNOTATION_START: str(start)}
    told = heard(PODS, batch(1).created(), Observation(Change.SEEN, other), Observation(Change.GONE, other))
    assert len(told) == (2 if start == START else 0)


def test_a_pod_that_was_known_and_is_in_no_list_has_left_our_sight() -> None:
    """A daemon that begins knows it from its journal; whether it is gone from the node is not proven by that."""
    story = batch().created().sees(ready(0), ready(1))
    seen = pod_object("pod-1", node="compute2", **{wellknown.OPERATOR_LABEL_INDEX: "1"})
    told = heard(PODS, story, Observation(Change.SEEN, seen), Observation(Change.SYNCED, {}))
    assert gone(told) == [(0, "pod-0", False)]


@pytest.mark.parametrize("known", [True, False])
def test_a_workload_that_was_known_and_is_in_no_list_is_gone(known: bool) -> None:
    """Nobody watched while it went; one that this node knows nothing of may be about to be made."""
    story = batch(1).created() if known else member().began()
    told = heard(WORKLOAD, story, Observation(Change.SYNCED, {}))
    assert [type(event) for event in told] == ([events.WorkloadGone] if known else [])


def test_a_late_word_of_a_watch_that_is_not_wanted_any_more_is_not_heard(world: World) -> None:
    """It may be older than what the next watch has told: a pod that is gone was there again for ten seconds."""
    node, job = world.node(), world.job()
    world.running(node, job)
    ended = threading.Event()
    ended.set()
    node.engine.came(node.run(job), events.WorkloadGone(clock.now()), ended)
    node.engine.came(node.run(job), events.Attached(clock.now()), threading.Event())
    assert node.until(lambda run: run.attached, job).workload is Workload.LIVE
