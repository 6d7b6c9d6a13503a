"""The creation of the workload over a real engine: what is taken for ours is behind the gate."""

import copy

import pytest

from bridge.engine import events
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
