"""Whether the policies judge what this node does: it asks, in dry runs, for what they must refuse."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge import wellknown
from bridge.doctor.check import CannotLook, Check, Told
from bridge.doctor.place import Place
from bridge.kube.api import Object
from bridge.messages import doctor_kubernetes as kubernetes_messages

_NOBODY = "slurm-k8s-bridge-doctor"  # no node has this name
_WORKLOAD, _EVENT = "slurm-k8s-bridge-workload", "slurm-k8s-bridge-event"


@dataclass(frozen=True)
class Tried:
    """``refusal`` is what the API server says, '' where it would have let it."""

    policy: str
    namespace: str
    refusal: str


def look(place: Place) -> tuple[Tried, ...]:
    namespace, asked = place.site.kubernetes.namespace, place.kubernetes
    return (
        Tried(_WORKLOAD, namespace, asked.refusal_of_workload(namespace, _workload(namespace))),
        Tried(_EVENT, namespace, asked.refusal_of_event(namespace, _event(namespace))),
    )


def judge(facts: tuple[Tried, ...]) -> Iterator[Told]:
    unclear = [tried for tried in facts if tried.refusal and tried.policy not in tried.refusal]
    for tried in facts:
        if not tried.refusal:
            yield kubernetes_messages.POLICY_NOT_IN_FORCE.told(policy=tried.policy, namespace=tried.namespace)
    if unclear:
        raise CannotLook(kubernetes_messages.POLICY_UNSEEN.told(policy=unclear[0].policy, said=unclear[0].refusal))


def _workload(namespace: str) -> Object:
    """Of a run whose batch node is somebody else."""
    pod = {"containers": [{"name": wellknown.CONTAINER, "image": "none"}]}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": "slurm-doctor-0-0",
            "namespace": namespace,
            "annotations": {wellknown.ANNOTATION_NODES: _NOBODY},
        },
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": pod}}}},
    }


def _event(namespace: str) -> Object:
    """In another node's name."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "slurm-doctor-0-0", "namespace": namespace},
        "involvedObject": {"kind": "PyTorchJob", "name": "slurm-doctor-0-0", "namespace": namespace},
        "type": "Warning",
        "reason": wellknown.REASON_NODE_FAULT,
        "message": "a dry run of bridgectl doctor",
        "source": {"component": wellknown.EVENT_SOURCE, "host": _NOBODY},
    }


CHECK = Check("policies", "a workload and an event in another node's name are refused (dry runs)", look, judge)
