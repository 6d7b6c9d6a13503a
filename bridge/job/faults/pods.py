"""Rows of a pod and its containers, and which of them a pod meets.

Only the kubelet's own machine-readable reasons speak against a node: words in a message may be a user's (a command
is called what they like), so the one row that reads words for that verdict looks at what no quotation can fake.
"""

import re
from collections.abc import Callable

from bridge.job.faults.containers import (
    BAD_COMMAND,
    CONTAINER_CONFIG,
    CONTAINER_CONFIG_LATE,
    CONTAINER_CREATE,
    CONTAINER_LOST,
    CONTAINER_TOO_SMALL,
    CRASH_LOOP,
    GPU_RUNTIME,
    IMAGE_NEEDS_DRIVER,
    INIT_FAILED,
    OUT_OF_MEMORY,
    RANK_FAILED,
    RUNTIME_NO_SPACE,
    RUNTIME_SLOW,
)
from bridge.job.faults.images import image_fault
from bridge.job.faults.row import RUNNING, STARTED, UNKNOWN, Fault, Finding, Subject, Verdict
from bridge.job.pods import PodFacts

KUBELET_REFUSED = Fault(
    "kubelet-refused",
    Subject.POD,
    Verdict.NODE,
    "the kubelet of {node} refused the pod of rank {rank}: {failure}: {message}",
    "look at the device plugin, at leftovers and at what else runs on that node",
    "kubelet admission: phase Failed with reason OutOf*, UnexpectedAdmissionError, NodeAffinity, NodePorts, "
    "InvalidNodeInfo",
)
NODE_PRESSURE = Fault(
    "node-pressure",
    Subject.POD,
    Verdict.NODE,
    "the kubelet of {node} takes no pods (rank {rank}): {message}",
    "free disk, memory or process ids there, then resume the node",
    "kubelet admission: reason Evicted, 'The node had condition: [DiskPressure]'",
)
TOPOLOGY = Fault(
    "topology",
    Subject.POD,
    Verdict.SHARED,
    "the kubelet of {node} cannot line up the CPUs and GPUs of rank {rank}: {message}",
    "ask for whole nodes or another number of CPUs; if whole nodes are refused, the site relaxes the kubelet's "
    "topologyManagerPolicy",
    "kubelet admission: TopologyAffinityError. The shape that was asked for, the site's policy or a leftover can be "
    "the cause, and the kubelet does not say which: no ground for a drain",
)
SMT_ALIGNMENT = Fault(
    "smt-alignment",
    Subject.POD,
    Verdict.JOB,
    "the kubelet of {node} gives whole cores only (rank {rank}): {message}",
    "ask for a number of CPUs that is a multiple of the threads of a core",
    "kubelet admission: SMTAlignmentError (CPU manager option full-pcpus-only)",
)
NODE_SHUTDOWN = Fault(
    "node-shutdown",
    Subject.POD,
    Verdict.SHARED,
    "{node} shuts down, and with it the pod of rank {rank}: {failure}: {message}",
    "submit again",
    "kubelet's graceful shutdown: reason NodeShutdown or Terminated",
    phases=STARTED,
)
EVICTED = Fault(
    "evicted",
    Subject.POD,
    Verdict.SHARED,
    "the pod of rank {rank} on {node} was taken away ({failure}: {message})",
    "submit again",
    "kubelet and controllers: reason Evicted (node under pressure), Preempting, DeadlineExceeded, NodeLost",
    phases=STARTED,
)
EVICTED_FOR_STORAGE = Fault(
    "evicted-for-storage",
    Subject.POD,
    Verdict.JOB,
    "rank {rank} on {node} wrote more to its own disk space than its limit and was taken away: {message}",
    "write to a volume of the site, or ask for more ephemeral-storage or a larger emptyDir in the spec",
    "kubelet eviction: 'exceeded its local ephemeral storage limit', 'Usage of EmptyDir volume … exceeds the limit'",
    phases=STARTED,
)
POD_FAILED = Fault(
    "pod-failed",
    Subject.POD,
    Verdict.SHARED,
    "the pod of rank {rank} on {node} was taken away (the kubelet gave no reason)",
    "submit again",
    "phase Failed without a status reason, without an ended container",
    phases=STARTED,
)
POD_DELETED = Fault(
    "pod-deleted",
    Subject.POD,
    Verdict.SHARED,
    "the pod of rank {rank} on {node} was deleted while it ran",
    "submit again",
    "watch: a pod that had started is gone, or another one bears its name",
    phases=RUNNING,
)
FOREIGN_GATE = Fault(
    "foreign-gate",
    Subject.POD,
    Verdict.SHARED,
    "somebody else holds the pod of rank {rank} back with the scheduling gate {message}",
    "the site takes the namespace out of that controller (Kueue, a webhook)",
    "spec.schedulingGates of the pod has another gate than the bridge's",
    None,
)
FOREIGN_AFFINITY = Fault(
    "foreign-affinity",
    Subject.POD,
    Verdict.SHARED,
    "somebody else gave the pod of rank {rank} an affinity, which the API server lets nobody replace",
    "the site takes the namespace out of the webhook that does this",
    "spec.affinity of a pod behind the bridge's gate; the template has none (tried on 1.36: only narrowing is allowed)",
    5.0,
)
UNSCHEDULABLE = Fault(
    "unschedulable",
    Subject.POD,
    Verdict.SHARED,
    "the scheduler does not place rank {rank}: {message}",
    "the node is cordoned, tainted or still occupied",
    "scheduler: condition PodScheduled False, reason Unschedulable",
    None,
)
UNSCHEDULABLE_FULL = Fault(
    "unschedulable-full",
    Subject.POD,
    Verdict.SHARED,
    "the node of rank {rank} has less left than the pod asks for: {message}",
    "something else runs there, or pod.max_cpus and pod.max_memory of bridge.toml are more than its allocatable, or "
    "the spec asks for a resource that it has not",
    "scheduler: Unschedulable, 'Insufficient …'",
    None,
)
UNSCHEDULABLE_TAINTED = Fault(
    "unschedulable-tainted",
    Subject.POD,
    Verdict.SHARED,
    "Kubernetes keeps pods away from the node of rank {rank}: {message}",
    "kubectl uncordon it, or look why it is not ready; a taint of the site belongs into pod.tolerations",
    "scheduler: Unschedulable, 'untolerated taint', 'were unschedulable', 'not-ready'",
    None,
)
CLAIM_MISSING = Fault(
    "claim-missing",
    Subject.POD,
    Verdict.SHARED,
    "a volume of the site has no claim or no storage behind it (rank {rank}): {message}",
    "the site creates the PersistentVolumeClaim that bridge.toml names in the namespace",
    "scheduler: 'persistentvolumeclaim … not found', 'unbound immediate PersistentVolumeClaims'; specs can name only "
    "the site's claims, so it is not the user's mistake",
    None,
)
NOT_STARTED = Fault(
    "not-started",
    Subject.POD,
    Verdict.SHARED,
    "rank {rank} has not started within the deadline: {message}",
    "",
    "the prolog's own deadline",
    None,
    advice="see what the message names; the job is tried again by itself",
)

ROWS = (
    KUBELET_REFUSED,
    NODE_PRESSURE,
    TOPOLOGY,
    SMT_ALIGNMENT,
    NODE_SHUTDOWN,
    EVICTED,
    EVICTED_FOR_STORAGE,
    POD_FAILED,
    POD_DELETED,
    FOREIGN_GATE,
    FOREIGN_AFFINITY,
    UNSCHEDULABLE,
    UNSCHEDULABLE_FULL,
    UNSCHEDULABLE_TAINTED,
    CLAIM_MISSING,
    NOT_STARTED,
)

_WAITING = {
    "CreateContainerConfigError": CONTAINER_CONFIG,
    "CreateContainerError": CONTAINER_CREATE,
    "RunContainerError": CONTAINER_CREATE,
    "PostStartHookError": CONTAINER_CREATE,
    "CrashLoopBackOff": CRASH_LOOP,
}
_REFUSED = ("UnexpectedAdmissionError", "NodeAffinity", "NodePorts", "InvalidNodeInfo")
_FAILED = {
    "TopologyAffinityError": TOPOLOGY,
    "SMTAlignmentError": TOPOLOGY,
    "NodeShutdown": NODE_SHUTDOWN,
    "Terminated": NODE_SHUTDOWN,
    "Evicted": EVICTED,
    "Preempting": EVICTED,
    "DeadlineExceeded": EVICTED,
    "NodeLost": EVICTED,
}
_PRESSURE = re.compile(r"^(Pod was rejected: |Pod )?The node had condition: ")
_OWN_STORAGE = re.compile(
    r"^(Container .* exceeded its local ephemeral storage limit|Pod ephemeral local storage usage exceeds"
    r"|Usage of EmptyDir volume .* exceeds the limit)"
)
# Of a container that could not be made or started, without quotations: the first that fits.
_SETUP = (
    (re.compile(r"failed to sync (secret|configmap) cache"), CONTAINER_CONFIG_LATE),
    (re.compile(r"container init was OOM-killed"), CONTAINER_TOO_SMALL),
    (re.compile(r"nvidia-container-cli(\.real)?: (requirement|device) error: "), IMAGE_NEEDS_DRIVER),
    (
        re.compile(
            r"nvidia-container-cli(\.real)?: (initialization|detection) error: (nvml|driver|cuda|load library)\b"
            r"[^\"]*?(driver not loaded|version mismatch|failed to process request|no cuda-capable device)"
            r"(: unknown)?\.?$"
        ),
        GPU_RUNTIME,
    ),
    (re.compile(r"no space left on device(: unknown)?$"), RUNTIME_NO_SPACE),
    (re.compile(r"context deadline exceeded$|DeadlineExceeded|is reserved for|connection refused\"?$"), RUNTIME_SLOW),
    (re.compile(r"executable file .*not found in \$PATH"), BAD_COMMAND),
    (re.compile(r"error mounting "), CONTAINER_CREATE),
)
_UNSCHEDULABLE = (
    (re.compile(r"persistentvolumeclaim|PersistentVolumeClaim|volume node affinity conflict"), CLAIM_MISSING),
    (re.compile(r"Insufficient |Too many pods"), UNSCHEDULABLE_FULL),
    (re.compile(r"untolerated taint|were unschedulable|not-ready|unreachable"), UNSCHEDULABLE_TAINTED),
)
_QUOTED = re.compile(r'\\?"((?:[^"\\]|\\.)*?)\\?"')
_HARMLESS = ("", "ContainerCreating", "PodInitializing")


def finding(pod: PodFacts) -> Finding | None:
    """The row that this pod meets, or None when nothing is wrong with it."""
    for look in _LADDER:
        found = look(pod)
        if found is not None:
            return _finding(pod, *found)
    return None


def of_rank(fault: Fault, pod: PodFacts, message: str = "") -> Finding:
    """A row that somebody else has seen to hold of this pod."""
    return _finding(pod, fault, message)


def failure(pod: PodFacts) -> Finding | None:
    """The row of a pod that ended although its training had not, None when it goes on."""
    if pod.phase != "Failed" or pod.over:
        return None
    found = _init_failed(pod) or _taken_away(pod) or (POD_FAILED, "")
    return _finding(pod, *found)


def how_it_ended(pod: PodFacts) -> Finding | None:
    """The row of a rank whose container ended badly, None when it did not."""
    ended = pod.ended
    if ended is None or ended.exit_code == 0:
        return None
    taken_away = _failed(pod.failure, pod.failure_message) if pod.failure else UNKNOWN
    if taken_away is not UNKNOWN:
        return _finding(pod, taken_away, pod.failure_message)
    if ended.reason == "OOMKilled":
        return _finding(pod, OUT_OF_MEMORY, "")
    if ended.reason == "ContainerStatusUnknown":
        return _finding(pod, CONTAINER_LOST, ended.message)
    return _finding(pod, RANK_FAILED, _how(ended.exit_code, ended.reason, ended.message))


def _finding(pod: PodFacts, fault: Fault, message: str) -> Finding:
    return fault.finding(
        message,
        rank=pod.rank,
        node=pod.node or "no node",
        image=pod.image,
        failure=pod.failure,
        container=pod.init_name,
    )


Found = tuple[Fault, str]


def _not_startable(pod: PodFacts) -> Found | None:
    if pod.ended is None or pod.ended.reason != "StartError":
        return None
    return _setup(pod.ended.message) or BAD_COMMAND, pod.ended.message


def _init_failed(pod: PodFacts) -> Found | None:
    ended = pod.init_ended
    if ended is None or pod.phase != "Failed" or pod.failure:
        return None
    return INIT_FAILED, _how(ended.exit_code, ended.reason, ended.message)


def _taken_away(pod: PodFacts) -> Found | None:
    if pod.phase != "Failed" or pod.over or not pod.failure:
        return None
    return _failed(pod.failure, pod.failure_message), pod.failure_message


def _failed(reason: str, message: str) -> Fault:
    if reason == "Evicted" and _PRESSURE.match(message):
        return NODE_PRESSURE
    if reason == "Evicted" and _OWN_STORAGE.match(message):
        return EVICTED_FOR_STORAGE
    if reason == "SMTAlignmentError" and "not multiple cpus per core" in message:
        return SMT_ALIGNMENT
    if reason.startswith("OutOf") or reason in _REFUSED:
        return KUBELET_REFUSED
    return _FAILED.get(reason, UNKNOWN)


def _waits_for_image(pod: PodFacts) -> Found | None:
    fault = image_fault(pod)
    return None if fault is None else (fault, _told(pod.waiting, pod.waiting_message, fault))


def _waits(pod: PodFacts) -> Found | None:
    if pod.waiting in _HARMLESS:
        return None
    usual = _WAITING.get(pod.waiting)
    fault = _setup(pod.waiting_message) or usual if usual in (CONTAINER_CONFIG, CONTAINER_CREATE) else usual
    return fault or UNKNOWN, _told(pod.waiting, pod.waiting_message, fault or UNKNOWN)


def _held(pod: PodFacts) -> Found | None:
    if pod.gate is not None and pod.has_affinity:
        return FOREIGN_AFFINITY, ""
    if pod.other_gates and not pod.node:
        return FOREIGN_GATE, pod.other_gates
    return None


def _unplaced(pod: PodFacts) -> Found | None:
    if not pod.unschedulable:
        return None
    fault = next((fault for words, fault in _UNSCHEDULABLE if words.search(pod.unschedulable)), UNSCHEDULABLE)
    return fault, pod.unschedulable


_LADDER: tuple[Callable[[PodFacts], Found | None], ...] = (
    _not_startable,
    _init_failed,
    _taken_away,
    _waits_for_image,
    _waits,
    _held,
    _unplaced,
)


def _setup(message: str) -> Fault | None:
    text = _without_quotations(" ".join(message.split()))
    return next((fault for words, fault in _SETUP if words.search(text)), None)


def _without_quotations(message: str) -> str:
    """What runtime and kubelet say themselves: a command or path of the user's is quoted, and repeated bare."""
    for quoted in sorted({found.group(1) for found in _QUOTED.finditer(message)}, key=len, reverse=True):
        if quoted.strip():
            message = message.replace(quoted, "")
    return message


def _told(reason: str, message: str, fault: Fault) -> str:
    """A row that many reasons meet names the one it was."""
    return f"{reason}: {message}" if fault is UNKNOWN else message


_SIGNALS = 64  # a code beyond those is a program's own: 255 is Python's sys.exit(-1)


def _how(exit_code: int, reason: str, message: str) -> str:
    words = " ".join(message.split())
    detail = f"{reason}: {words}" if words else reason
    how = f"was ended by signal {exit_code - 128}" if 128 < exit_code <= 128 + _SIGNALS else f"exited {exit_code}"
    return f"{how} ({detail})" if detail else how
