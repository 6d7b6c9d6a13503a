"""The activities by which a daemon finds out about its own node."""

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import structlog

from bridge import clock, wellknown
from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Task, Work
from bridge.engine.node_reading import NodeReadings, Reading
from bridge.engine.state import Run
from bridge.errors import BridgeError, Conflict, NotFound
from bridge.job.faults import Finding, observed, runs
from bridge.job.faults.nodes import Look, NodeFacts, node_facts, node_finding
from bridge.kube.api import Kubelet, Kubernetes, Object

_NAMES = {  # in an event's own name; a run has one Slurm side
    wellknown.REASON_NODE_FAULT: "node-fault",
    wellknown.REASON_SHARE: "share",
    wellknown.REASON_UNNAMED: "share",
    wellknown.REASON_GIVEN_UP: "slurm-side",
    wellknown.REASON_STOPPED: "slurm-side",
    wellknown.REASON_FAILED: "slurm-side",
}
_MESSAGE_LIMIT = 1000  # bytes; the API server takes 1,024 in an event's message

_PYTORCHJOB = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}

log = structlog.get_logger()


class NodeWork:
    """This node, seen from itself: its kubelet on loopback, its disks, its Node, and how other nodes fare."""

    def __init__(
        self,
        config: Config,
        kube: Kubernetes,
        kubelet: Kubelet,
        full_disk: Callable[[], str],
        boot_id: str,
        reached: Callable[[str], object] = lambda _: None,
        readings: NodeReadings | None = None,
    ) -> None:
        """``reached`` raises ConfigError for a namespace that this node has no credential for; ``readings`` are those
        of whoever else asks for this Node."""
        self._config = config
        self._kube = kube
        self._kubelet = kubelet
        self._full_disk = full_disk
        self._boot_id = boot_id
        self._reached = reached
        self._readings = readings or NodeReadings(kube)
        self._namespace = config.kubernetes.namespace

    def works(self) -> dict[type[do.Activity], Work]:
        """Which method does which activity."""
        return {
            do.ProveNode: _of(self._prove),
            do.LookAtNode: _of(self._look),
            do.CountNodeFaults: _of(self._count),
            do.TellShare: _of(self._tell_share),
            do.TellSlurmSide: _of(self._tell_slurm_side),
        }

    def _prove(self, task: Task, activity: do.ProveNode) -> events.Event:
        # Before anything may be created: what nobody here could ever ask for needs no proof in the epilog.
        self._reached(self._namespace_of(task.run))
        try:
            reading = self._good_reading(task.run, activity.node) or self._readings.take(activity.node)
        except NotFound:
            return self._refuted(task.run, runs.NODE_UNKNOWN.finding(node=activity.node))
        if reading.boot_id != self._boot_id:
            return self._refuted(task.run, runs.NODE_FOREIGN.finding(node=activity.node))
        counts, given = self._counts(reading), _gpus_given(task.run)
        gpus = sum(counts.values())  # of what type the job's are slurmd does not say
        if gpus < given:
            seen = f"{gpus} {' and '.join(counts)} where Slurm gave {given}"
            raise observed(runs.GPUS_MISSING.finding(seen, node=activity.node))
        return events.NodeProven(clock.now(), gpus, self._full_disk(), counts)

    def _good_reading(self, run: Run, node: str) -> Reading | None:
        """A thousand nodes that begin at once do not ask again what they have just been told, if it was good. The
        batch node does: by what it sees of its own GPUs it judges and renders the job."""
        reading = None if run.is_batch else self._readings.recent(node)
        if reading is None or reading.boot_id != self._boot_id:
            return None
        return reading if sum(self._counts(reading).values()) >= _gpus_given(run) else None

    def _counts(self, reading: Reading) -> dict[str, int]:
        return {name: int(reading.allocatable.get(name, 0)) for name in self._config.gpu.resources}

    def _refuted(self, run: Run, found: Finding) -> events.Event:
        """After a boot the kubelet may be later than slurmd: only what lasts is evidence against the node, as long as
        any other fault of it. Nobody needs it twice."""
        if run.accusation is not None or clock.now() < run.began + 2 * self._config.timing.node_patience:
            raise observed(found)
        return events.NodeAccused(clock.now(), found.sentence, found.fault.name)

    def _look(self, task: Task, activity: do.LookAtNode) -> events.Event:
        complaint = self._kubelet.complaint()
        look = Look(
            node=self._facts(activity.node),
            kubelet=complaint,
            pod_untouched=bool(complaint) and self._is_untouched(task.run),
            boot_id=self._boot_id,
            began=_began(task.run),
            gpus_due=self._gpus_due(task.run),
            gpu_resource=" and ".join(self._config.gpu.resources),
            full_before=task.run.full_disk,
            full=self._full_disk(),
        )
        found = node_finding(look)
        lost = bool(activity.batch_node) and self._is_lost(activity.batch_node)
        name, sentence = ("", "") if found is None else (found.fault.name, found.sentence)
        return events.NodeLooked(clock.now(), name, sentence, lost)

    def _facts(self, node: str) -> NodeFacts:
        return node_facts(self._kube.node(node), self._config.gpu.resources)

    def _is_lost(self, node: str) -> bool:
        try:
            return self._facts(node).ready != "True"
        except NotFound:
            return True

    def _is_untouched(self, run: Run) -> bool:
        """The scheduler gave our pod to this node, and its kubelet has not even said that it saw it."""
        try:
            pod = self._kube.pod(self._namespace_of(run), run.own_pod_name)
        except NotFound:
            return False
        return bool(pod["spec"].get("nodeName")) and not (pod.get("status") or {}).get("startTime")

    def _gpus_due(self, run: Run) -> int:
        return 0 if clock.now() < self._config.timing.boot_grace else _gpus_given(run)

    def _count(self, task: Task, activity: do.CountNodeFaults) -> events.Event:
        # About the workload: an event about a Node would have to lie in the namespace `default`. All of them lie in one
        # namespace, whatever that of the workload is, since the other nodes count them there.
        run, there = task.run, self._namespace
        about = _PYTORCHJOB | {"name": run.name}
        about |= {"uid": run.workload_uid} if run.workload_uid and self._namespace_of(run) == there else {}
        self._tell(run, there, about, wellknown.REASON_NODE_FAULT, activity.sentence)
        told = self._kube.events_because(there, wellknown.REASON_NODE_FAULT)
        own = self._source(run)
        latest = max((_created(event) for event in told if _host(event) == own), default=None)
        since = -1.0 if latest is None else latest - self._config.timing.node_fault_window
        others = {_host(event) for event in told if _created(event) >= since} - {own}
        return events.NodeFaultsCounted(clock.now(), len(others))

    def _tell_share(self, task: Task, activity: do.TellShare) -> events.Event:
        about = {"apiVersion": "v1", "kind": "Pod", "name": activity.pod, "uid": activity.uid}
        self._tell(task.run, self._namespace_of(task.run), about, activity.reason, activity.sentence)
        return events.ShareTold(clock.now())

    def _tell_slurm_side(self, task: Task, activity: do.TellSlurmSide) -> None:
        """Tried once: an API server that does not answer has more urgent work, and the epilog waits for nobody."""
        about = _PYTORCHJOB | {"name": task.run.name, "uid": activity.uid}
        try:
            self._tell(task.run, self._namespace_of(task.run), about, activity.reason, activity.sentence)
        except BridgeError as error:
            log.info("slurm_side_not_told", reason=activity.reason, error=str(error))

    def _tell(self, run: Run, namespace: str, about: Object, reason: str, sentence: str) -> None:
        """An event of which this node is the source; one for each reason."""
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        told = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{run.name}-{_NAMES[reason]}-{run.rank}", "namespace": namespace},
            "involvedObject": about | {"namespace": namespace},
            "type": "Warning",
            "reason": reason,
            "message": sentence.encode(errors="replace")[:_MESSAGE_LIMIT].decode(errors="ignore"),
            "source": {"component": wellknown.EVENT_SOURCE, "host": self._source(run)},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }
        with suppress(Conflict):  # an earlier try has told it
            self._kube.create_event(namespace, told)

    def _source(self, run: Run) -> str:
        """Who tells: by the credential, if it says so. A node that takes itself for another one tells of itself, too,
        and what it tells in another's name would be refused."""
        return self._kube.identity() or run.node

    def _namespace_of(self, run: Run) -> str:
        return run.rules.namespace or self._namespace


def _gpus_given(run: Run) -> int:
    return 0 if run.allocation is None else run.allocation.gpus_here


def _began(run: Run) -> float:
    """When the prolog began, by the calendar of then or by that of now: the kubelet's times may be of either, where it
    has been set meanwhile, and nothing that came since may seem older than the job."""
    return run.began + min(run.clock_offset or math.inf, clock.offset())


def _host(event: Object) -> str:
    return str((event.get("source") or {}).get("host") or "")


def _created(event: Object) -> float:
    """When the API server took it in: its clock alone, so the nodes' clocks may differ."""
    return datetime.fromisoformat(str(event["metadata"]["creationTimestamp"])).timestamp()


def _of(method: Callable[[Task, Any], events.Event | None]) -> Work:
    return lambda task: method(task, task.activity)
