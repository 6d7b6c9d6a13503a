"""Where a contract test of Kubernetes happens."""

import uuid
from pathlib import Path
from typing import Any, Protocol

from bridge.config.servers import KubernetesAccess
from bridge.kube.api import Kubernetes, Object
from bridge.kube.client import KubernetesClient
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubernetes import FakeKubernetes
from tests.integration.contract.running import run
from tests.integration.stack import eventually


class World(Protocol):
    """A namespace, a node that takes pods, and an image with a shell."""

    kube: Kubernetes
    namespace: str
    node: str
    image: str

    def print(self, pod: str, *lines: bytes) -> None:
        """Where containers run nothing: the pod prints this and ends."""

    def limit_workloads(self, limit: int) -> None:
        """From now on the namespace has no room for more than these."""

    def close(self) -> None: ...


class FakeWorld:
    """All in memory."""

    namespace = "contract"
    node = "n1"
    image = "small"

    def __init__(self) -> None:
        self.kube: Kubernetes
        self.kube = self._kube = FakeKubernetes()
        self._cluster = FakeCluster(self._kube, self.namespace)
        self._cluster.add_node(self.node, boot_id="b")
        self._cluster.play()

    def print(self, pod: str, *lines: bytes) -> None:
        self._kube.write_log(self.namespace, pod, *lines)
        self._cluster.end(pod, 0)

    def limit_workloads(self, limit: int) -> None:
        self._kube.quota = limit

    def close(self) -> None:
        """Nothing is left."""


class RealWorld:
    """The stack, as its administrator: what the API server does, not what a node may."""

    def __init__(self, stack: dict[str, Any]) -> None:
        kubeconfig = Path(stack["admin_kubeconfig"])
        self._kubectl = (str(stack["kubectl"]), "--kubeconfig", str(kubeconfig))
        self.namespace = f"contract-{uuid.uuid4().hex[:8]}"
        self.node = str(stack["nodes"][0])
        self.image = str(stack["images"]["small"])
        run(*self._kubectl, "create", "namespace", self.namespace)
        # Else no pod of it may tolerate the taint of Slurm's nodes.
        run(*self._kubectl, "label", "namespace", self.namespace, "slurm-k8s-bridge/jobs=true")
        self._client = KubernetesClient(KubernetesAccess(kubeconfig=kubeconfig))
        self.kube: Kubernetes = self._client

    def print(self, pod: str, *lines: bytes) -> None:
        """Its container does."""

    def limit_workloads(self, limit: int) -> None:
        there = ("--namespace", self.namespace)
        run(*self._kubectl, *there, "create", "quota", "q", f"--hard=count/pytorchjobs.kubeflow.org={limit}")
        known = (*there, "get", "quota", "q", "-o", "jsonpath={.status.used}")
        eventually(lambda: run(*self._kubectl, *known), 90, "the quota")

    def close(self) -> None:
        self._client.close()
        run(*self._kubectl, "delete", "namespace", self.namespace, "--wait=false")


def workload(world: World, name: str, *command: str, labels: dict[str, str] | None = None) -> Object:
    """A PyTorchJob of one gated worker."""
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "schedulingGates": [{"name": "slurm-k8s-bridge/node"}],
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "pytorch", "image": world.image, "command": list(command)}],
    }
    template = {"metadata": {"annotations": {"slurm-k8s-bridge/nodes": world.node}}, "spec": pod}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"runPolicy": {"cleanPodPolicy": "Running"}, "pytorchReplicaSpecs": {"Worker": worker}},
    }
