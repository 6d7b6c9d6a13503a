"""What happens in a cluster besides the API server: training-operator, scheduler, kubelets, garbage collector.

Nothing moves by itself until a test says so, step by step, or by `play`.
"""

import copy
from contextlib import suppress
from threading import RLock
from typing import Any

from bridge import wellknown
from bridge.errors import NotFound
from bridge.kube.api import Object
from tests.fakes.kubernetes import FakeKubernetes


class FakeCluster:
    """The cluster around one FakeKubernetes, seen in one namespace."""

    def __init__(self, kube: FakeKubernetes, namespace: str = "slurm-jobs") -> None:
        self.kube = kube
        self.namespace = namespace
        self.dead_kubelets: set[str] = set()  # nodes where nothing starts, and no pod ever goes
        self._turn = RLock()
        self._plays = self._settling = False

    def add_node(self, name: str, boot_id: str = "", gpus: int = 0, **resources: str) -> None:
        """A node that is Ready."""
        allocatable = {"nvidia.com/gpu": str(gpus), **resources}
        ready = {"type": "Ready", "status": "True"}
        status = {"nodeInfo": {"bootID": boot_id}, "allocatable": allocatable, "conditions": [ready]}
        self.kube.put("node", {"metadata": {"name": name}, "spec": {}, "status": status})

    def play(self) -> None:
        """From now on all that can happen happens at once: pods are made, bound, started, and go when deleted."""
        self._plays = True
        self.kube.on_change = self._settle
        self._settle()

    def rest(self) -> None:
        """From now on nothing happens by itself, and nothing that is under way goes on."""
        with self._turn:
            self._plays = False

    def bury(self, node: str) -> None:
        """The kubelet of this node dies."""
        self.dead_kubelets.add(node)

    def revive(self, node: str) -> None:
        """It is back, and lets go of what was deleted meanwhile."""
        self.dead_kubelets.discard(node)
        self.kube.on_change()

    # -- the operator

    def make_pods(self, workload: str) -> list[str]:
        """The operator makes the pods of a workload that are missing; their names."""
        job = self.kube.get("workload", self.namespace, workload)
        present = {pod["metadata"]["name"] for pod in self._pods()}
        worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]
        names = [f"{workload}-worker-{index}" for index in range(worker["replicas"])]
        for index, name in enumerate(names):
            if name not in present:
                self.kube.put("pod", _pod(job, worker["template"], name, index))
        return names

    def set_condition(self, workload: str, kind: str, reason: str = "", message: str = "") -> None:
        """The operator says Created, Running, Succeeded or Failed of the workload."""
        condition = {"type": kind, "status": "True", "reason": reason, "message": message}
        self.kube.change("workload", self.namespace, workload, conditions=[condition])

    # -- the scheduler

    def schedule(self, pod: str) -> bool:
        """Binds an ungated pod to the node that its affinity names; whether it did."""
        if not _is_schedulable(self.kube.get("pod", self.namespace, pod)):
            return False
        self.kube.edit("pod", self.namespace, pod, _bind)
        return True

    # -- the kubelet

    def wait_for_image(self, pod: str, reason: str, message: str = "") -> None:
        """The container waits: ContainerCreating, ErrImagePull, ImagePullBackOff, …"""
        self._container(pod, "Pending", {"waiting": {"reason": reason, "message": message}})

    def refuse(self, pod: str, reason: str, message: str = "") -> None:
        """The kubelet does not take the pod: OutOfcpu, UnexpectedAdmissionError, …"""
        self.kube.change("pod", self.namespace, pod, phase="Failed", reason=reason, message=message)

    def start(self, pod: str, ready: bool = True) -> None:
        """The container runs."""
        self._container(pod, "Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, ready)

    def end(self, pod: str, exit_code: int, reason: str = "", message: str = "") -> None:
        """The container ends."""
        terminated = {
            "exitCode": exit_code,
            "reason": reason or ("Error" if exit_code else "Completed"),
            "message": message,
            "finishedAt": "2026-01-01T00:01:00Z",
        }
        self._container(pod, "Failed" if exit_code else "Succeeded", {"terminated": terminated})

    def finish(self, pod: str) -> None:
        """The kubelet has killed everything of a pod that is being deleted: the pod goes."""
        item = self.kube.get("pod", self.namespace, pod)
        assert item["metadata"].get("deletionTimestamp"), f"{pod} is not being deleted"
        self.kube.remove("pod", self.namespace, pod)

    # -- the garbage collector

    def collect(self) -> None:
        """Deletes the pods of workloads that are being deleted, and those workloads when no pod is left."""
        for job in self.kube.all("workload"):
            if not job["metadata"].get("deletionTimestamp"):
                continue
            mine = [pod for pod in self._pods() if _owner(pod) == job["metadata"]["uid"]]
            for pod in mine:
                if not pod["metadata"].get("deletionTimestamp"):
                    self.kube.mark_deleted("pod", self.namespace, pod["metadata"]["name"], pod["metadata"]["uid"])
            if not mine:
                self.kube.remove("workload", self.namespace, job["metadata"]["name"])

    # -- inside

    def _pods(self) -> list[Object]:
        return [pod for pod in self.kube.all("pod") if pod["metadata"]["namespace"] == self.namespace]

    def _container(self, pod: str, phase: str, state: Object, ready: bool = False) -> None:
        item = self.kube.get("pod", self.namespace, pod)
        conditions = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True" if ready else "False"},
        ]
        statuses = [
            {"name": container["name"], "ready": ready, "restartCount": 0, "state": state}
            for container in item["spec"]["containers"]
        ]
        change: dict[str, Any] = {"phase": phase, "conditions": conditions, "containerStatuses": statuses}
        change["startTime"] = "2026-01-01T00:00:00Z"
        self.kube.change("pod", self.namespace, pod, **change)

    def _node_of(self, pod: str) -> str:
        return str(self.kube.get("pod", self.namespace, pod)["spec"]["nodeName"])

    def _settle(self) -> None:
        with self._turn:
            if self._settling or not self._plays:
                return  # a change of our own, or a cluster at rest
            self._settling = True
            try:
                while self._step():
                    pass
            finally:
                self._settling = False

    def _step(self) -> bool:
        """One round; whether anything moved. What somebody removes meanwhile is no longer its concern."""
        before = self.kube.changes
        with suppress(NotFound):
            self._round()
        return self.kube.changes != before

    def _round(self) -> None:
        for job in self.kube.all("workload"):
            if not job["metadata"].get("deletionTimestamp"):
                self.make_pods(job["metadata"]["name"])
        for pod in self._pods():
            name = pod["metadata"]["name"]
            if pod["spec"].get("nodeName") in self.dead_kubelets:
                continue
            if pod["metadata"].get("deletionTimestamp"):
                self.finish(name)
            elif self.schedule(name) and self._node_of(name) not in self.dead_kubelets:
                self.start(name)
        self.collect()


def _pod(job: Object, template: Object, name: str, index: int) -> Object:
    owner = {"kind": "PyTorchJob", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"], "controller": True}
    labels = {
        **(template.get("metadata", {}).get("labels") or {}),
        wellknown.OPERATOR_LABEL_JOB: job["metadata"]["name"],
        wellknown.OPERATOR_LABEL_INDEX: str(index),
    }
    metadata = {
        "name": name,
        "namespace": job["metadata"]["namespace"],
        "labels": labels,
        "annotations": dict(template.get("metadata", {}).get("annotations") or {}),
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": copy.deepcopy(template["spec"]), "status": {"phase": "Pending"}}


def _owner(pod: Object) -> str:
    return next((str(owner["uid"]) for owner in pod["metadata"].get("ownerReferences", [])), "")


def _is_schedulable(pod: Object) -> bool:
    return not (pod["spec"].get("schedulingGates") or pod["spec"].get("nodeName"))


def _bind(pod: Object) -> None:
    pod["spec"]["nodeName"] = _wanted_node(pod)
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]


def _wanted_node(pod: Object) -> str:
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])
