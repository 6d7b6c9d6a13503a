"""The fault table: every observation that can end a run before its time, and what becomes of it.

One row per observation. `verdict` says who is to blame, `patience` how many seconds the observation must
last before it is believed, `sentence` what is told (cause, consequence, cure), `source` where the fact
comes from.
"""

import re
from dataclasses import dataclass
from enum import Enum

from bridge.job.pods import PodFacts


class Verdict(Enum):
    """Who is to blame, and so what the prolog does."""

    JOB = "job"  # the user: told, cancelled, exit 0, node in service
    NODE = "node"  # this very node, on local evidence: exit 1, Slurm drains it and requeues the job
    SHARED = "shared"  # something that all nodes share: told, exit 0, never a drain
    GONE = "gone"  # the job is over: clean up, exit 0


@dataclass(frozen=True)
class Fault:
    """One row. ``patience`` None means: only the prolog's deadline ends the wait."""

    name: str
    verdict: Verdict
    patience: float | None
    sentence: str
    source: str


@dataclass(frozen=True)
class Finding:
    """A row met by a pod: the row and its sentence with the pod's own words in it."""

    fault: Fault
    sentence: str
    rank: int


_IMAGE_PATIENCE = 20.0

IMAGE_MISSING = Fault(
    "image-missing",
    Verdict.JOB,
    _IMAGE_PATIENCE,
    "image {image} does not exist in its registry (rank {rank} on {node}): {message}; correct the image's name or tag",
    "kubelet ErrImagePull/ImagePullBackOff with 404 or 'not found' of containerd 1.7",
)
IMAGE_FORBIDDEN = Fault(
    "image-forbidden",
    Verdict.JOB,
    _IMAGE_PATIENCE,
    "the registry refuses image {image} to this job (rank {rank} on {node}): {message}; "
    "ask for access, or have the site name a pull secret",
    "kubelet ErrImagePull with 401/403 of containerd 1.7",
)
IMAGE_UNREACHABLE = Fault(
    "image-unreachable",
    Verdict.SHARED,
    None,
    "image {image} could not be pulled in time (rank {rank} on {node}): {message}; "
    "the registry is slow or down, submit again later",
    "kubelet ErrImagePull with 5xx or a time-out of containerd 1.7",
)
IMAGE_NAME = Fault(
    "image-name",
    Verdict.JOB,
    0.0,
    "image name {image} is not valid: {message}; write it as REGISTRY/NAME:TAG",
    "kubelet InvalidImageName, ErrImageNeverPull",
)
CONTAINER_CONFIG = Fault(
    "container-config",
    Verdict.JOB,
    10.0,
    "the container of rank {rank} cannot be set up: {message}; create the Secret, ConfigMap or key that it names, "
    "or take it out of the spec",
    "kubelet CreateContainerConfigError",
)
CONTAINER_CREATE = Fault(
    "container-create",
    Verdict.JOB,
    10.0,
    "the container of rank {rank} on {node} cannot be made: {message}; correct the spec (command, mounts, workingDir)",
    "kubelet CreateContainerError, RunContainerError",
)
BAD_COMMAND = Fault(
    "bad-command",
    Verdict.JOB,
    0.0,
    "the command of rank {rank} cannot be started: {message}; correct command, args or workingDir",
    "containerd: container state terminated with reason StartError, exit code 128",
)
KUBELET_REFUSED = Fault(
    "kubelet-refused",
    Verdict.NODE,
    0.0,
    "the kubelet of {node} refused the pod of rank {rank}: {failure}: {message}; look at the device plugin, "
    "at leftovers and at what else runs on that node",
    "kubelet admission: phase Failed with reason OutOf*, UnexpectedAdmissionError, TopologyAffinityError, Node*",
)
EVICTED = Fault(
    "evicted",
    Verdict.SHARED,
    0.0,
    "the pod of rank {rank} on {node} was taken away: {failure}: {message}; submit again",
    "kubelet and controllers: pod reason Evicted, Preempting, NodeLost, Terminated, NodeShutdown",
)
UNSCHEDULABLE = Fault(
    "unschedulable",
    Verdict.SHARED,
    None,
    "the scheduler does not place rank {rank}: {message}; the node is cordoned, tainted or still occupied",
    "scheduler: condition PodScheduled False, reason Unschedulable",
)

NOT_STARTED = Fault(
    "not-started",
    Verdict.SHARED,
    None,
    "rank {rank} has not started within the deadline: {message}",
    "the prolog's own deadline",
)

TABLE = (
    IMAGE_MISSING,
    IMAGE_FORBIDDEN,
    IMAGE_UNREACHABLE,
    IMAGE_NAME,
    CONTAINER_CONFIG,
    CONTAINER_CREATE,
    BAD_COMMAND,
    KUBELET_REFUSED,
    EVICTED,
    UNSCHEDULABLE,
    NOT_STARTED,
)

_WAITING = {
    "InvalidImageName": IMAGE_NAME,
    "ErrImageNeverPull": IMAGE_NAME,
    "CreateContainerConfigError": CONTAINER_CONFIG,
    "CreateContainerError": CONTAINER_CREATE,
    "RunContainerError": CONTAINER_CREATE,
}
_PULLING = ("ErrImagePull", "ImagePullBackOff")
_REFUSED = (
    "UnexpectedAdmissionError",
    "TopologyAffinityError",
    "NodeAffinity",
    "NodePorts",
    "InvalidNodeInfo",
)
_MISSING_TEXT = re.compile(r"not found|manifest unknown|does not exist|\b404\b", re.IGNORECASE)
_FORBIDDEN_TEXT = re.compile(r"unauthorized|authorization failed|denied|forbidden|\b40[13]\b", re.IGNORECASE)


def finding(pod: PodFacts) -> Finding | None:
    """The row that this pod meets, or None when nothing is wrong with it."""
    fault, message = _fault(pod)
    if fault is None:
        return None
    sentence = fault.sentence.format(
        rank=pod.rank,
        node=pod.node or "no node",
        image=pod.image,
        failure=pod.failure,
        message=" ".join(message.split()) or "no message",
    )
    return Finding(fault, sentence, pod.rank)


def _fault(pod: PodFacts) -> tuple[Fault | None, str]:
    if pod.ended is not None and pod.ended.reason == "StartError":
        return BAD_COMMAND, pod.ended.message
    if pod.phase == "Failed" and pod.failure and not pod.over:
        return (KUBELET_REFUSED if _is_refusal(pod.failure) else EVICTED), pod.failure_message
    if pod.waiting in _PULLING:
        return _image_fault(pod.waiting_message), pod.waiting_message
    if pod.waiting in _WAITING:
        return _WAITING[pod.waiting], pod.waiting_message
    if pod.unschedulable:
        return UNSCHEDULABLE, pod.unschedulable
    return None, ""


def _is_refusal(reason: str) -> bool:
    return reason.startswith("OutOf") or reason in _REFUSED


def _image_fault(message: str) -> Fault:
    if _FORBIDDEN_TEXT.search(message):
        return IMAGE_FORBIDDEN
    return IMAGE_MISSING if _MISSING_TEXT.search(message) else IMAGE_UNREACHABLE
