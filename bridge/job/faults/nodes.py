"""Rows of this node itself, found by its own daemon when a pod does not start there.

Only what is local counts. The kubelet itself writes Ready as False; Unknown is the node controller's word for a
kubelet that it has not heard of, and says as much about the way between the two as about the node.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bridge.job.faults.row import Fault, Finding, Subject, Verdict
from bridge.job.pods import epoch
from bridge.job.words import plain

Object = dict[str, Any]

KUBELET_DEAD = Fault(
    "kubelet-dead",
    Subject.LOCAL_NODE,
    Verdict.NODE,
    "the kubelet of {node} is dead ({message}), so no pod starts there",
    "mend it (systemctl status kubelet), then resume the node",
    "the kubelet's healthz on loopback, and: Node not Ready, of another boot, or its pod without status.startTime",
    30.0,
    timing="node_patience",
)
RUNTIME_DOWN = Fault(
    "runtime-down",
    Subject.NODE,
    Verdict.NODE,
    "the container runtime of {node} does not work: {message}",
    "mend it (systemctl status containerd), then resume the node",
    "kubelet: Node condition Ready False, reason KubeletNotReady, 'container runtime is down', 'PLEG is not healthy'",
    30.0,
    timing="node_patience",
)
NODE_SHORT = Fault(
    "node-short",
    Subject.NODE,
    Verdict.NODE,
    "{node} has been short of {message} since before this job came, so its kubelet takes no pods",
    "free some, then resume the node",
    "kubelet: Node conditions DiskPressure, PIDPressure with a lastTransitionTime before the prolog",
    30.0,
    timing="node_patience",
)
DISK_FULL = Fault(
    "disk-full",
    Subject.LOCAL_NODE,
    Verdict.NODE,
    "a disk of {node} is full, and was before this job came: {message}; so no container starts there",
    "free some (crictl rmi --prune, journalctl --vacuum-size), then resume the node",
    "statvfs of the directories in kubernetes.disks, at the prolog's beginning and while the pod does not start: under "
    "1 % of its bytes (1 GiB at most) or inodes",
    30.0,
    timing="node_patience",
)
GPUS_GONE = Fault(
    "gpus-gone",
    Subject.NODE,
    Verdict.NODE,
    "Kubernetes shows {message} on {node}",
    "look at the device plugin and the driver there, then resume the node",
    "kubelet: Node allocatable below what slurmd gave the job, condition Ready True, and the last boot is long ago",
    30.0,
    timing="node_patience",
)

ROWS = (KUBELET_DEAD, RUNTIME_DOWN, NODE_SHORT, DISK_FULL, GPUS_GONE)

# Of the reasons why a kubelet is not ready those that lie in this machine. A network plugin that is not ready is not
# among them: its DaemonSet may be missing on every node.
_RUNTIME_DOWN = re.compile(r"container runtime is down|PLEG is not healthy|container runtime status check")
# A kubelet takes no pod under these. Under MemoryPressure it takes all with limits, as those of the bridge are.
_PRESSURES = {"DiskPressure": "disk space or inodes", "PIDPressure": "process numbers"}


@dataclass(frozen=True)
class NodeFacts:
    """One Node. ``ready`` is the status of its condition Ready, ``ready_message`` what it says; ``pressures`` what
    the kubelet says it is short of, and since when (seconds since the epoch); ``gpus`` how many can be given."""

    name: str
    boot_id: str
    ready: str
    ready_message: str
    pressures: tuple[tuple[str, float], ...]
    gpus: int


@dataclass(frozen=True)
class Look:
    """What a daemon finds when it looks at its own node while a pod does not start there.

    ``kubelet`` is why the kubelet does not answer well on loopback, '' when it does or nobody is asked;
    ``pod_untouched`` whether no kubelet has taken notice of the pod that the scheduler gave it; ``boot_id`` this
    kernel's; ``began`` when the prolog began, seconds since the epoch; ``gpus_due`` how many of ``gpu_resource``
    there have to be, 0 while the device plugin may still be on its way;
    ``full_before`` which disk was full when the prolog began, ``full`` which is now, '' for none.
    """

    node: NodeFacts
    kubelet: str
    pod_untouched: bool
    boot_id: str
    began: float
    gpus_due: int
    gpu_resource: str
    full_before: str = ""
    full: str = ""


def node_facts(node: Object, gpu_resources: Iterable[str]) -> NodeFacts:
    """The facts of a Node, whose GPUs are these resources."""
    meta, status = node.get("metadata") or {}, node.get("status") or {}
    conditions = {str(item.get("type")): item for item in status.get("conditions") or []}
    ready = conditions.get("Ready") or {}
    allocatable = status.get("allocatable") or {}
    gpus = [str(allocatable.get(name, "0")) for name in gpu_resources]
    return NodeFacts(
        name=str(meta.get("name", "")),
        boot_id=str((status.get("nodeInfo") or {}).get("bootID", "")),
        ready=str(ready.get("status", "")),
        ready_message=plain(str(ready.get("message") or "")),
        pressures=tuple(
            (_PRESSURES[kind], epoch(item.get("lastTransitionTime")))
            for kind, item in conditions.items()
            if kind in _PRESSURES and item.get("status") == "True"
        ),
        gpus=sum(int(count) for count in gpus if re.fullmatch("[0-9]{1,9}", count)),
    )


def node_finding(look: Look) -> Finding | None:
    """The row that this node meets, or None when nothing here is proven wrong."""
    fault, message = _fault(look)
    return None if fault is None else fault.finding(message, node=look.node.name)


def _fault(look: Look) -> tuple[Fault | None, str]:
    if look.kubelet and _is_witnessed(look):
        return KUBELET_DEAD, look.kubelet
    if look.node.ready == "False" and _RUNTIME_DOWN.search(look.node.ready_message):
        return RUNTIME_DOWN, look.node.ready_message
    # What fills up while the job's own image comes may be that image's fault, on every node that it comes to.
    short = [what for what, since in look.node.pressures if since < look.began]
    if short:
        return NODE_SHORT, " and of ".join(short)
    if look.full_before and look.full:
        return DISK_FULL, look.full
    if look.node.ready == "True" and look.node.gpus < look.gpus_due:
        return GPUS_GONE, f"{look.node.gpus} {look.gpu_resource} where Slurm gave {look.gpus_due}"
    return None, ""


def _is_witnessed(look: Look) -> bool:
    """A silent health port alone may be a setting of the site (healthzPort 0): something else must say the same."""
    return look.node.ready != "True" or look.node.boot_id != look.boot_id or look.pod_untouched
