"""The creation of the workload over a real engine: what is taken for ours is behind the gate."""

import copy

import pytest

from bridge import wellknown
from bridge.engine import events
from bridge.engine.state import Workload
from bridge.errors import Unavailable
from bridge.kube.api import Object
from tests.fakes.kubernetes import FakeKubernetes

from .world import World


@pytest.fixture
def gates_are_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CRD is one from before scheduling gates, and its server forgets to be strict."""
    create = FakeKubernetes.create_workload

    def pruned(kube: FakeKubernetes, namespace: str, manifest: Object) -> Object:
        manifest = copy.deepcopy(manifest)
        del manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["schedulingGates"]
        return create(kube, namespace, manifest)

    monkeypatch.setattr(FakeKubernetes, "create_workload", pruned)


@pytest.mark.usefixtures("gates_are_pruned")
@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_a_workload_without_the_gate_is_deleted_and_never_taken_for_ours(world: World, answer_is_lost: bool) -> None:
    node, job = world.node(prolog_deadline=1.0), world.job()
    world.cluster.rest()  # no operator: its pods would start wherever they like
    if answer_is_lost:
        world.kube.faults.lose_answer("create_workload", Unavailable("read timed out"))
    prolog = node.prolog(job)
    assert "not started after" in prolog.answer()["message"]
    told = [event for _, event in node.journalled()]
    assert any(isinstance(event, events.Failed) and "drops schedulingGates" in event.sentence for event in told)
    assert not any(isinstance(event, events.WorkloadCreated) for event in told)
    (workload,) = world.kube.all("workload")
    assert workload["metadata"]["deletionTimestamp"]


def test_what_was_made_without_an_answer_is_found_where_it_fills_the_quota(world: World) -> None:
    world.kube.quota = 1
    world.kube.faults.lose_answer("create_workload", Unavailable("read timed out"))
    node, job = world.node(), world.job()
    assert node.prolog(job).exit() == 0
    assert node.run(job).judgement is None and node.run(job).workload is Workload.LIVE
    assert world.calls("create_workload") == 2
    assert node.epilog(job).exit() == 0
    assert not world.kube.all("workload")


def test_what_another_run_has_made_under_the_name_is_no_lost_answer_either(world: World) -> None:
    """Though it fills the quota: the job is not let through to pods of another start."""
    node, old = world.node(), world.job()
    world.running(node, old)
    world.kube.quota = 1
    (workload,) = world.kube.all("workload")
    workload["metadata"]["annotations"][wellknown.ANNOTATION_START] = "1"
    world.kube.put("workload", workload)
    node = world.wiped(node)
    assert "exceeded quota: q" in node.prolog(old).answer()["message"]
    assert node.run(old).workload_uid != workload["metadata"]["uid"]


def test_a_quota_that_others_fill_is_the_jobs_fault(world: World) -> None:
    world.kube.quota = 0
    node, job = world.node(), world.job()
    assert "exceeded quota: q" in node.prolog(job).answer()["message"]
    assert node.epilog(job).exit() == 0
