"""Rows of what stands in a pod's events alone: its status shows ContainerCreating for all of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bridge import wellknown
from bridge.job.faults.containers import CONTAINER_TOO_SMALL
from bridge.job.faults.images import IMAGE_PULLING
from bridge.job.faults.pods import of_rank
from bridge.job.faults.row import UNKNOWN, Fault, Finding, Subject, Verdict
from bridge.job.faults.runs import ALLOCATION_UNFIT, GPUS_UNNAMED
from bridge.job.pods import PodFacts

VOLUME_MISSING = Fault(
    "volume-missing",
    Subject.POD,
    Verdict.JOB,
    "a volume of rank {rank} names something that is not there: {message}",
    "create the Secret, ConfigMap or key, or take the volume out of the spec",
    "kubelet's event FailedMount: 'secret … not found', 'configmap … not found', 'references non-existent … key'",
    15.0,
)
VOLUME_MOUNT = Fault(
    "volume-mount",
    Subject.POD,
    Verdict.SHARED,
    "a volume of rank {rank} cannot be mounted on {node}: {message}",
    "the site looks at the file system and its CSI driver there",
    "kubelet's events FailedMount, FailedMapVolume",
    None,
)
VOLUME_ATTACH = Fault(
    "volume-attach",
    Subject.POD,
    Verdict.SHARED,
    "a volume of rank {rank} cannot be attached to {node}: {message}",
    "the site looks at the storage system and its CSI driver",
    "attach-detach controller's event FailedAttachVolume",
    None,
)
SANDBOX = Fault(
    "sandbox",
    Subject.POD,
    Verdict.SHARED,
    "the pod of rank {rank} gets no network or sandbox on {node}: {message}",
    "the site looks at CNI plugin and containerd there",
    "kubelet's events FailedCreatePodSandBox, NetworkNotReady",
    None,
)

ROWS = (VOLUME_MISSING, VOLUME_MOUNT, VOLUME_ATTACH, SANDBOX)

_BY_REASON = {
    "FailedMount": VOLUME_MOUNT,
    "FailedMapVolume": VOLUME_MOUNT,
    "FailedAttachVolume": VOLUME_ATTACH,
    "FailedCreatePodSandBox": SANDBOX,
    "NetworkNotReady": SANDBOX,
    "Pulling": IMAGE_PULLING,
    wellknown.REASON_SHARE: ALLOCATION_UNFIT,
    wellknown.REASON_UNNAMED: GPUS_UNNAMED,
}
# Warnings that either say nothing of the pod's start, or what its status says better.
_TOLD_ELSEWHERE = frozenset(
    {
        "BackOff",
        "DNSConfigForming",
        "Failed",
        "FailedScheduling",
        "FailedToRetrieveImagePullSecret",
        "InspectFailed",
        "Unhealthy",
    }
)
_MISSING = re.compile(r"(secret|configmap) \"[^\"]*\" not found|references non-existent (secret|config|configmap) key")
# The limit of the only container is the pod's too, which the sandbox has to live in.
_TOO_SMALL = re.compile(r"container init was OOM-killed")
_SUMMARY = "Unable to attach or mount volumes"  # the kubelet's own, every two minutes; the cause came before


@dataclass(frozen=True)
class PodEvent:
    """An event about a pod, as far as it matters here."""

    type: str
    reason: str
    message: str


def telling(events: Iterable[PodEvent]) -> PodEvent | None:
    """The event, of these from the oldest on, that says why the pod has not started; None when the last is good."""
    said: PodEvent | None = None
    for event in events:
        if event.reason in _TOLD_ELSEWHERE or (said is not None and event.message.startswith(_SUMMARY)):
            continue
        said = event if event.type == "Warning" or event.reason in _BY_REASON else None
    return said


def of_event(pod: PodFacts, reason: str, message: str) -> Finding:
    """The row that a telling event of this pod meets."""
    fault = _BY_REASON.get(reason, UNKNOWN)
    if fault is VOLUME_MOUNT and _MISSING.search(message):
        fault = VOLUME_MISSING
    if fault is SANDBOX and _TOO_SMALL.search(message):
        fault = CONTAINER_TOO_SMALL
    return of_rank(fault, pod, f"{reason}: {message}" if fault is UNKNOWN else message)
