"""What watchers of both systems told, turned into the moments of one job. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

PREFIX = "slurm-k8s-bridge/"
GATE = PREFIX + "node"


class What(Enum):
    """The stations of a job."""

    SUBMITTED = "submitted"
    ALLOCATED = "allocated"
    CREATED = "created"
    GATE_OPENED = "gate opened"
    READY = "ready"
    SCRIPT_STARTED = "script started"
    FINISHED = "finished"
    GONE = "gone"
    RELEASED = "released"


@dataclass(frozen=True)
class Told:
    """One thing that a watcher was told: when, by whom (`pods`, `pytorchjobs`, `nodes`, or whose log), and what."""

    at: float
    source: str
    body: Any


@dataclass(frozen=True)
class Moment:
    """A station that the job has reached. ``node`` is empty where it is the whole job's."""

    at: float
    what: What
    detail: str
    node: str = ""


@dataclass
class Pod:
    """A pod of the job as last seen."""

    rank: int
    gated: bool = False
    opened: bool = False
    ready: bool = False
    gone: bool = False
    node: str = ""
    annotated_rank: str = ""


_ALLOCATED = re.compile(r"(?:_start_job: Started|: Allocate) JobId=(\d+)\b.*?(?: on |NodeList=)(\S+)")
_COMPLETED = re.compile(r"_job_complete: JobId=(\d+) (?!done)(.+)")
_KILLED = re.compile(r"KILL_JOBS?\b.*?JobId=(\d+)")
_STARTED = re.compile(r"\[(\d+)\.batch\] task 0 \(\d+\) started")


@dataclass
class Story:
    """Everything known of one job; `take` returns what is new in it."""

    job: int
    node_list: str = ""
    pods: dict[str, Pod] = field(default_factory=dict)
    workload: str = ""
    workload_gone: bool = False
    ended: str = ""
    states: dict[str, str] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)

    def take(self, told: Told) -> list[Moment]:
        """The new moments, also kept in `moments`."""
        readers = {"pods": self._pod, "pytorchjobs": self._workload, "nodes": self._nodes}
        new = list(readers.get(told.source, self._log)(told))
        self.moments += new
        return new

    @property
    def is_free(self) -> bool:
        """Whether Slurm shows every node as idle."""
        return bool(self.states) and all(state == "idle" for state in self.states.values())

    @property
    def is_empty_again(self) -> bool:
        """Whether Kubernetes has nothing of the job any more."""
        return self.workload_gone == bool(self.workload) and all(pod.gone for pod in self.pods.values())

    # -- Kubernetes

    def _workload(self, told: Told) -> Iterator[Moment]:
        meta = told.body["object"]["metadata"]
        if not self._is_ours(meta):
            return
        if not self.workload:
            self.workload = meta["name"]
            yield Moment(told.at, What.CREATED, f"PyTorchJob {self.workload}")
        if told.body["type"] == "DELETED":
            self.workload_gone = True
            yield Moment(told.at, What.GONE, f"PyTorchJob {self.workload}")

    def _pod(self, told: Told) -> Iterator[Moment]:
        meta, spec = told.body["object"]["metadata"], told.body["object"]["spec"]
        if not self._is_ours(meta):
            return
        rank = int(meta["labels"]["training.kubeflow.org/replica-index"])
        pod = self.pods.setdefault(meta["name"], Pod(rank))
        gated = any(gate["name"] == GATE for gate in spec.get("schedulingGates") or [])
        pod.gated = pod.gated or gated
        pod.annotated_rank = (meta.get("annotations") or {}).get(PREFIX + "node-rank", pod.annotated_rank)
        if not gated and not pod.opened:
            pod.opened = True
            node = _pinned_to(spec)
            yield Moment(told.at, What.GATE_OPENED, f"rank {rank} may run on {node}, and nowhere else", node)
        pod.node = spec.get("nodeName") or pod.node
        if _is_ready(told.body["object"]) and not pod.ready:
            pod.ready = True
            yield Moment(told.at, What.READY, f"rank {rank} on {pod.node}", pod.node)
        if told.body["type"] == "DELETED":
            pod.gone = True
            yield Moment(told.at, What.GONE, f"pod of rank {rank} on {pod.node}", pod.node)

    def _is_ours(self, meta: dict[str, Any]) -> bool:
        return (meta.get("labels") or {}).get(PREFIX + "job") == str(self.job)

    # -- Slurm

    def _log(self, told: Told) -> Iterator[Moment]:
        line: str = told.body
        if (found := _ALLOCATED.search(line)) and int(found[1]) == self.job:
            self.node_list = found[2]
            yield Moment(told.at, What.ALLOCATED, found[2])
        elif (found := _STARTED.search(line)) and int(found[1]) == self.job:
            yield Moment(told.at, What.SCRIPT_STARTED, f"on {told.source}", told.source)
        elif not self.ended and (found := _COMPLETED.search(line)) and int(found[1]) == self.job:
            self.ended = found[2]
            yield Moment(told.at, What.FINISHED, f"script ended, {found[2]}")
        elif not self.ended and (found := _KILLED.search(line)) and int(found[1]) == self.job:
            self.ended = "cancelled"
            yield Moment(told.at, What.FINISHED, "cancelled")

    def _nodes(self, told: Told) -> Iterator[Moment]:
        for node, state in told.body.items():
            if state == "idle" != self.states.get(node):
                yield Moment(told.at, What.RELEASED, f"{node} is idle", node)
            self.states[node] = state


def _pinned_to(spec: dict[str, Any]) -> str:
    """The node that the opened gate's affinity names; empty when it names none, or several."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    values = [
        value
        for term in required.get("nodeSelectorTerms") or []
        for match in term.get("matchFields") or []
        for value in match.get("values") or []
    ]
    return str(values[0]) if len(values) == 1 else ""


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
