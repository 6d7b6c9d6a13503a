"""The rows of the fault table for which an activity asks to be tried again, or gives its try up."""

import copy
import json
from dataclasses import replace

import pytest

from bridge import clock, wellknown
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Task
from bridge.engine.state import Judgement
from bridge.errors import Forbidden, Observed
from bridge.job.faults import Verdict
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, Story, batch
from .trying import met, work, works
from .world import NAMESPACE


def refuted(kube: FakeKubernetes, story: Story) -> str:
    """The row of a node that is not the one it thinks, when that has lasted as long as it must. Once accused it is
    asked again and again, with pauses: others may share the fault, and it may be mended."""
    activity, patience = do.ProveNode("compute1", 0), 2 * CONFIG.timing.node_patience
    with pytest.raises(Observed):
        works(kube)[do.ProveNode](Task(replace(story.run, began=clock.now() - patience + 5), activity, _posted))
    run = replace(story.run, began=clock.now() - patience)
    event = works(kube)[do.ProveNode](Task(run, activity, _posted))
    assert isinstance(event, events.NodeAccused)
    accused = replace(run, accusation=Judgement(Verdict.NODE, event.sentence, event.fault))
    with pytest.raises(Observed):
        works(kube)[do.ProveNode](Task(accused, activity, _posted))
    return event.fault


def _posted(_event: events.Event) -> None:
    """Nobody listens."""


def test_a_node_that_is_not_there_or_another_is_a_row() -> None:
    kube, story = FakeKubernetes(), batch(1).began()
    story._run = replace(story.run, began=10.0**9)
    assert met(kube, do.ProveNode("compute1", 0), story) == "node-unknown"
    assert refuted(kube, story) == "node-unknown"
    FakeCluster(kube).add_node("compute1", boot_id="another")
    assert met(kube, do.ProveNode("compute1", 0), story) == "node-foreign"
    assert refuted(kube, story) == "node-foreign"


def test_gpus_that_kubernetes_does_not_show_are_a_row() -> None:
    kube = FakeKubernetes()
    FakeCluster(kube).add_node("compute1", boot_id="boot")
    assert met(kube, do.ProveNode("compute1", 0), batch(1).began()) == "gpus-missing"


def test_a_name_that_is_taken_is_a_row() -> None:
    kube, story = FakeKubernetes(), batch(1).began().learned()
    manifest = json.loads(story.run.manifest)
    older = copy.deepcopy(manifest)
    older["metadata"]["annotations"] = {}
    older["metadata"]["namespace"] = NAMESPACE
    kube.put("workload", older)
    create = do.CreateWorkload(story.run.manifest, 0)
    assert met(kube, create, story) == "predecessor"
    foreign = copy.deepcopy(older)
    foreign["metadata"]["labels"] = {}
    kube.put("workload", foreign)
    assert met(kube, create, story) == "name-taken"


@pytest.mark.parametrize("differs", [wellknown.ANNOTATION_START, wellknown.ANNOTATION_SPEC_HASH])
def test_a_workload_of_another_start_or_spec_is_no_lost_answer(differs: str) -> None:
    kube, story = FakeKubernetes(), batch(1).began().learned()
    older = json.loads(story.run.manifest)
    older["metadata"]["namespace"] = NAMESPACE
    older["metadata"]["annotations"][differs] = "1"
    kube.put("workload", older)
    assert met(kube, do.CreateWorkload(story.run.manifest, 0), story) == "predecessor"


def test_a_workload_that_is_being_deleted_is_no_lost_answer() -> None:
    kube, story = FakeKubernetes(), batch(1).began().learned()
    older = json.loads(story.run.manifest)
    older["metadata"] |= {"namespace": NAMESPACE, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    kube.put("workload", older)
    assert met(kube, do.CreateWorkload(story.run.manifest, 0), story) == "predecessor"


def test_an_operator_that_makes_no_pods_is_a_row() -> None:
    kube, story = FakeKubernetes(), batch(1).created()
    assert met(kube, do.ReadRefusals("job-uid", 0), story) == "operator-silent"


def test_a_webhook_that_does_not_answer_is_tried_again_and_one_that_denies_is_not() -> None:
    kube, story = FakeKubernetes(), batch(1).created()
    said = {"reason": "FailedCreatePod", "involvedObject": {"uid": "job-uid"}}
    down = "Error creating: Internal error occurred: failed calling webhook"
    kube.put(
        "event", {"metadata": {"name": "1", "namespace": NAMESPACE}, "lastTimestamp": "1", "message": down, **said}
    )
    assert met(kube, do.ReadRefusals("job-uid", 0), story) == "webhook-down"
    denied = 'Error creating: admission webhook "w" denied the request: no'
    kube.put(
        "event", {"metadata": {"name": "2", "namespace": NAMESPACE}, "lastTimestamp": "2", "message": denied, **said}
    )
    event = work(kube, do.ReadRefusals("job-uid", 0), story)
    assert isinstance(event, events.Refused) and (event.fault, event.verdict) == ("webhook-denied", Verdict.JOB)


# -- a namespace that was a slip of the pen


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("namespace", ["elsewhere", CONFIG.kubernetes.namespace])
def test_a_closed_namespace_holds_a_node_that_let_a_pod_through_or_that_the_site_still_names(
    namespace: str, seen: bool
) -> None:
    kube = FakeKubernetes()
    kube.break_down(Forbidden("not here"))
    story = batch(1).began()
    known = frozenset({"pod-0"} if seen else ())
    rules = replace(story.run.rules, namespace=namespace)
    story._run = replace(story.run, rules=rules, known_uids=known)
    proving = do.ProveGone(story.run.name, f"{story.run.name}-worker-0", "compute1", 0)
    deleting = do.DeleteWorkload(story.run.name, "", 0)
    if namespace == "elsewhere" and not seen:
        assert isinstance(work(kube, proving, story), events.PodsClear)
        assert isinstance(work(kube, deleting, story), events.WorkloadGone)
        return
    for activity in (proving, deleting):
        with pytest.raises(Forbidden):
            work(kube, activity, story)
