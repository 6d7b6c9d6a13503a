"""Public manifests on the real API server: created strictly, made into pods by the operator, Ready on KWOK's nodes.

All at once, in a namespace of their own, on imitated nodes that nobody else's pods tolerate.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge import wellknown
from bridge.config.servers import KubernetesAccess
from bridge.job.gate import opening
from bridge.job.pods import pod_facts
from bridge.kube.api import Selector
from bridge.kube.client import KubernetesClient
from tests.manifests.collected import manifests

from .imitated import imitation, node
from .stack import Stack, eventually

NAMESPACE = "manifests"
LABEL_JOBS = "slurm-k8s-bridge/jobs"  # only in such a namespace may pods tolerate the taint
# Each job has nodes of its own, as from Slurm: whoever asked for a GPU has the whole node.
LARGEST = 2


def claim(name: str) -> list[dict[str, Any]]:
    """A claim that is bound from its beginning, as a project has them before it submits."""
    storage = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = f"{NAMESPACE}-{name}"
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume, "labels": {"type": "kwok"}},
            "spec": {
                **storage,
                "capacity": {"storage": "1Ti"},
                "persistentVolumeReclaimPolicy": "Retain",
                "nfs": {"server": "nowhere.example", "path": "/"},
                "claimRef": {"namespace": NAMESPACE, "name": name},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {**storage, "volumeName": volume, "resources": {"requests": {"storage": "1Ti"}}},
        },
    ]


@contextmanager
def imitated_nodes(stack: Stack, objects: list[dict[str, Any]]) -> Iterator[None]:
    """These objects; nothing is left of them."""
    try:
        stack.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        yield
    finally:
        stack.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=60s")
        stack.kubectl("delete", "nodes,persistentvolumes", "-l", "type=kwok", "--wait=false")


@pytest.fixture
def kwok(stack: Stack) -> Iterator[None]:  # noqa: ARG001 - of a stack that is up
    """Its nodes live. On a new machine it is built here, which takes its time: a test's limit holds for the test
    alone."""
    with imitation():
        yield


@pytest.fixture
def kube(stack: Stack) -> Iterator[KubernetesClient]:
    """The API server as the daemons ask it, with the administrator's rights."""
    client = KubernetesClient(KubernetesAccess(kubeconfig=Path(stack.description["admin_kubeconfig"]), timeout=30))
    yield client
    client.close()


def claims_of(workload: dict[str, Any]) -> set[str]:
    pod = workload["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    sources = [volume.get("persistentVolumeClaim", {}) for volume in pod["volumes"]]
    return {source["claimName"] for source in sources if source}


@pytest.mark.usefixtures("kwok")
def test_public_manifests_become_ready_pods(stack: Stack, kube: KubernetesClient) -> None:
    nodes = {manifest.name: tuple(f"kwok-{manifest.number}-{n}" for n in range(LARGEST)) for manifest in manifests()}
    made = {manifest.name: manifest.rendered(nodes[manifest.name], NAMESPACE) for manifest in manifests()}
    workloads = {name: rendered.manifest for name, rendered in made.items() if rendered is not None}
    assert len(workloads) >= 0.9 * len(made)
    count = {
        name: workload["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] for name, workload in workloads.items()
    }
    objects: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": {LABEL_JOBS: "true"}}},
        *(node(place) for name in workloads for place in nodes[name][: count[name]]),
    ]
    for name in sorted(set().union(*map(claims_of, workloads.values()))):
        objects += claim(name)

    with imitated_nodes(stack, objects):
        for workload in workloads.values():
            kube.create_workload(NAMESPACE, workload)
        wanted = int(sum(count.values()))
        opened: set[str] = set()

        def all_opened() -> bool:
            for item in kube.list_pods(NAMESPACE, Selector()):
                pod = pod_facts(item)
                if pod is not None and pod.gate is not None and pod.uid not in opened:
                    kube.patch_pod(NAMESPACE, pod.name, opening(pod, place_of(item)))
                    opened.add(pod.uid)
            return len(opened) >= wanted

        eventually(all_opened, 60, f"{wanted} pods of {len(workloads)} workloads")
        pods = eventually(lambda: ready(kube, wanted), 60, f"{wanted} pods Ready")
        assert len(pods) == wanted
        for pod in pods:
            assert pod["spec"]["nodeName"] == place_of(pod)


def place_of(pod: dict[str, Any]) -> str:
    """The node of this rank, as the pod's own annotation has it."""
    rank = int(pod["metadata"]["labels"][wellknown.OPERATOR_LABEL_INDEX])
    names: list[str] = pod["metadata"]["annotations"][wellknown.ANNOTATION_NODES].split(",")
    return names[rank]


def ready(kube: KubernetesClient, wanted: int) -> list[dict[str, Any]]:
    """The pods, when so many are Ready."""
    pods = kube.list_pods(NAMESPACE, Selector())
    conditions = [{item["type"]: item["status"] for item in pod["status"].get("conditions", [])} for pod in pods]
    return pods if sum(one.get("Ready") == "True" for one in conditions) >= wanted else []
