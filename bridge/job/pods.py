"""What the bridge reads from a pod and from a workload: a few typed facts out of much JSON."""

import math
import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bridge import wellknown

Object = dict[str, Any]

_TIMES = ("scheduled_at", "sandbox_at", "started_at", "ready_at")
_AS_IT_SHOULD = (None, "ContainerCreating", "PodInitializing")  # reasons of a container that waits for its turn
_TEXT_LIMIT = 1000  # characters kept of a message that a registry or a user's image may have written


@dataclass(frozen=True)
class Ended:
    """How a container ended. ``finished_at`` is the kubelet's RFC 3339 time, whole seconds."""

    exit_code: int
    reason: str
    message: str
    finished_at: str


@dataclass(frozen=True)
class PodFacts:
    """One pod of a run.

    ``gate`` is the index of the bridge's gate in its scheduling gates, None when it is open;
    ``waiting`` and ``waiting_message`` the first reason why a container does not start; ``image`` that
    container's, else the training container's; ``failure`` and ``failure_message`` the pod's own status reason
    (a kubelet's refusal, an eviction); ``unschedulable`` the scheduler's message; ``ended`` how the training
    container ended; ``init_name`` and ``init_ended`` the init container that failed; ``other_gates`` the names
    of scheduling gates that are not the bridge's. Kubernetes' own times, RFC 3339 in whole seconds and '' while there
    is none: ``scheduled_at`` the pod was bound to its node, ``sandbox_at`` its network and volumes were there and its
    images began to be pulled (told since Kubernetes 1.29), ``started_at`` its training container was started,
    ``ready_at`` it became Ready. ``pulling`` is the image that its node fetches, as far as the status tells,
    ``owner`` the uid of the workload that it belongs to, ``devices`` the resources of device plugins that its
    containers ask for.
    """

    name: str
    uid: str
    rank: int
    node: str
    phase: str
    ready: bool
    running: bool
    deleting: bool
    gate: int | None
    has_affinity: bool
    waiting: str
    waiting_message: str
    image: str
    failure: str
    failure_message: str
    unschedulable: str
    ended: Ended | None
    init_name: str = ""
    init_ended: Ended | None = None
    other_gates: str = ""
    scheduled_at: str = ""
    sandbox_at: str = ""
    started_at: str = ""
    ready_at: str = ""
    pulling: str = ""
    owner: str = ""
    devices: tuple[str, ...] = ()

    @property
    def started(self) -> bool:
        """Ready, or already ended by itself: a quick rank is over before the last one is Ready."""
        return self.ready or (self.ended is not None and self.ended.reason != "StartError")

    def remembering(self, earlier: "PodFacts") -> "PodFacts":
        """These facts with the times that the same pod has shown before, since a condition that no longer holds has
        none, and with its end: a pod has one."""
        if earlier.uid != self.uid:
            return self
        known = {name: getattr(self, name) or getattr(earlier, name) for name in _TIMES}
        return replace(self, **known, ended=earlier.ended or self.ended)

    @property
    def over(self) -> bool:
        """The training container has ended."""
        return self.ended is not None


def pod_facts(pod: Object) -> PodFacts | None:
    """The facts of a pod, or None when it is no worker of a bridge run."""
    meta, spec, status = pod.get("metadata") or {}, pod.get("spec") or {}, pod.get("status") or {}
    rank = str((meta.get("labels") or {}).get(wellknown.OPERATOR_LABEL_INDEX, ""))
    if not re.fullmatch("[0-9]{1,9}", rank):
        return None
    container = _training_container(status)
    state = (container or {}).get("state") or {}
    container_waiting, waiting = _waiting(status)
    init_name, init_ended = _failed_init(status)
    return PodFacts(
        name=str(meta.get("name", "")),
        uid=str(meta.get("uid", "")),
        rank=int(rank),
        node=str(spec.get("nodeName") or ""),
        phase=str(status.get("phase", "")),
        ready=condition(status, "Ready").get("status") == "True",
        running="running" in state,
        deleting=bool(meta.get("deletionTimestamp")),
        gate=_gate_index(spec),
        has_affinity=bool(spec.get("affinity")),
        waiting=str(waiting.get("reason", "")),
        waiting_message=_short(waiting.get("message")),
        image=_image(spec, container_waiting),
        failure=str(status.get("reason", "")),
        failure_message=_short(status.get("message")),
        unschedulable=_unschedulable(status),
        ended=_ended(state.get("terminated")),
        init_name=init_name,
        init_ended=init_ended,
        other_gates=_other_gates(spec),
        scheduled_at=_since(status, "PodScheduled"),
        sandbox_at=_since(status, "PodReadyToStartContainers"),
        started_at=str((state.get("running") or state.get("terminated") or {}).get("startedAt") or ""),
        ready_at=_since(status, "Ready"),
        pulling=_pulling(spec, status),
        owner=_owner(meta),
        devices=_devices(spec),
    )


def _owner(meta: Object) -> str:
    owners = [item for item in meta.get("ownerReferences") or [] if item.get("controller")]
    return str(owners[0].get("uid") or "") if owners else ""


def _devices(spec: Object) -> tuple[str, ...]:
    """A resource that is not Kubernetes' own has a domain; where a limit is set, its request is the same."""
    containers = (spec.get("containers") or []) + (spec.get("initContainers") or [])
    limits = [((item.get("resources") or {}).get("limits") or {}).items() for item in containers]
    return tuple(sorted({name for each in limits for name, count in each if "/" in name and str(count) != "0"}))


def _training_container(status: Object) -> Object | None:
    containers = status.get("containerStatuses") or []
    named = [item for item in containers if item.get("name") == wellknown.CONTAINER]
    chosen = named or containers[:1]
    return chosen[0] if chosen else None


def _ended(terminated: Object | None) -> Ended | None:
    if not terminated:
        return None
    return Ended(
        exit_code=int(terminated.get("exitCode", 0)),
        reason=str(terminated.get("reason", "")),
        message=_short(terminated.get("message")),
        finished_at=str(terminated.get("finishedAt") or ""),
    )


def _waiting(status: Object) -> tuple[str, Object]:
    """Name of the first container that does not start, and its state; ('', {}) when there is none."""
    states = (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or [])
    for item in states:
        waiting: Object = (item.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") not in _AS_IT_SHOULD:
            return str(item.get("name", "")), waiting
    return "", {}


def _failed_init(status: Object) -> tuple[str, Ended | None]:
    """The init container that ended badly: with restartPolicy Never it ends the pod."""
    for item in status.get("initContainerStatuses") or []:
        ended = _ended((item.get("state") or {}).get("terminated"))
        if ended is not None and ended.exit_code != 0:
            return str(item.get("name", "")), ended
    return "", None


def _image(spec: Object, waiting: str) -> str:
    """The image of the container that waits, else of the training container."""
    containers = (spec.get("containers") or []) + (spec.get("initContainers") or [])
    wanted = waiting or wellknown.CONTAINER
    named = [item for item in containers if item.get("name") == wanted] or containers
    return str(named[0].get("image", "")) if named else ""


def _pulling(spec: Object, status: Object) -> str:
    """The image of the container whose turn it is, once network and volumes are there; '' while one runs before it, or
    waits with a fault. What stands between image and start is quick."""
    if not _since(status, "PodReadyToStartContainers"):
        return ""
    initial = status.get("initContainerStatuses") or []
    for item in initial + (status.get("containerStatuses") or []):
        state = item.get("state") or {}
        if "terminated" in state or ("running" in state and item not in initial):
            continue
        waits = "running" not in state and (state.get("waiting") or {}).get("reason") in _AS_IT_SHOULD
        return _image(spec, str(item.get("name", ""))) if waits else ""
    return ""


def _other_gates(spec: Object) -> str:
    names = (str(gate.get("name", "")) for gate in spec.get("schedulingGates") or [])
    return _short(", ".join(name for name in names if name != wellknown.GATE))


def _gate_index(spec: Object) -> int | None:
    for index, gate in enumerate(spec.get("schedulingGates") or []):
        if gate.get("name") == wellknown.GATE:
            return index
    return None


def condition(status: Object, kind: str) -> Object:
    """A status' condition of this type (of a pod, a workload, a Node); empty where it has none."""
    for item in status.get("conditions") or []:
        if item.get("type") == kind:
            return dict(item)
    return {}


def epoch(stamp: object) -> float:
    """Seconds of a time as Kubernetes writes it; infinite for what is no time, since nothing is proven by it."""
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except ValueError:
        return math.inf


def _since(status: Object, kind: str) -> str:
    """Since when this condition has been true; '' where it is not."""
    found = condition(status, kind)
    return str(found.get("lastTransitionTime") or "") if found.get("status") == "True" else ""


def _unschedulable(status: Object) -> str:
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        return _short(scheduled.get("message")) or "no message"
    return ""


def _short(text: object) -> str:
    return str(text or "")[:_TEXT_LIMIT]


@dataclass(frozen=True)
class WorkloadFacts:
    """One workload. ``start`` is the bridge's own annotation, '' on a foreign object; ``gated``: each pod that is made
    from it has the bridge's gate (what an older daemon has written down does not tell: it was)."""

    uid: str
    start: str
    spec_hash: str
    deleting: bool
    failed: bool
    message: str
    gated: bool = True


def workload_facts(workload: Object) -> WorkloadFacts:
    """The facts of a PyTorchJob."""
    meta, status = workload.get("metadata") or {}, workload.get("status") or {}
    annotations = meta.get("annotations") or {}
    failed = condition(status, "Failed")
    return WorkloadFacts(
        uid=str(meta.get("uid", "")),
        start=str(annotations.get(wellknown.ANNOTATION_START, "")),
        spec_hash=str(annotations.get(wellknown.ANNOTATION_SPEC_HASH, "")),
        deleting=bool(meta.get("deletionTimestamp")),
        failed=failed.get("status") == "True",
        message=_short(failed.get("message")),
        gated=_is_gated(workload),
    )


def _is_gated(workload: Object) -> bool:
    """Whether each of its templates has the gate: a CRD that is too old has dropped it."""
    replicas = (workload.get("spec") or {}).get("pytorchReplicaSpecs") or {}
    templates = [(replica or {}).get("template") or {} for replica in replicas.values()]
    return bool(templates) and all(_gate_index(template.get("spec") or {}) is not None for template in templates)
