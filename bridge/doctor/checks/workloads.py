"""The PyTorchJob of this cluster: served at all, and of an operator that is new enough; and Kubernetes itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import CannotLook, Check, Told
from bridge.doctor.place import Place
from bridge.messages import doctor_kubernetes as kubernetes_messages

_OLDEST = (1, 27)
_POLICIES_SINCE = (1, 30)
_NEEDED = ("nprocPerNode", "pytorchReplicaSpecs", "runPolicy.cleanPodPolicy", "runPolicy.suspend")
"""What the bridge writes; training-operator 1.7 is the first that has all of them."""


@dataclass(frozen=True)
class Workloads:
    """``fields`` are those of the CRD below `spec`."""

    version: str
    served: bool
    fields: frozenset[str] = frozenset()


def look(place: Place) -> Workloads:
    version, served = place.kubernetes.version(), place.kubernetes.serves_workloads()
    return Workloads(version, served, frozenset(place.kubernetes.workload_fields()) if served else frozenset())


def judge(facts: Workloads) -> Iterator[Told]:
    if not facts.served:
        yield kubernetes_messages.CRD_MISSING.told()
    elif facts.fields and (missing := [field for field in _NEEDED if field not in facts.fields]):
        yield kubernetes_messages.OPERATOR_OLD.told(fields=", ".join(missing))
    number = re.match(r"v(\d+)\.(\d+)", facts.version)
    if number is None:
        raise CannotLook(kubernetes_messages.VERSION_UNLIKE.told(version=facts.version))
    version = (int(number[1]), int(number[2]))
    if version < _OLDEST:
        yield kubernetes_messages.KUBERNETES_OLD.told(version=facts.version)
    elif version < _POLICIES_SINCE:
        yield kubernetes_messages.KUBERNETES_WITHOUT_POLICIES.told(version=facts.version)
    if facts.served and not facts.fields:
        raise CannotLook(kubernetes_messages.CRD_UNREAD.told())


CHECK = Check(
    "workloads", "Kubernetes' version; PyTorchJob is served, with every field that the bridge writes", look, judge
)
