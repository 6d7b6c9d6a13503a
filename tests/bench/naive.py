"""The naive peer: kubectl in a prolog, as sites do it today. The same objects without gates, held apart by
anti-affinity."""

import copy
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bridge import wellknown
from tests.integration.stack import Stack

_HOST = "kubernetes.io/hostname"
_PATIENCE = "--timeout=300s"


def ungated(workload: dict[str, Any], nodes: tuple[str, ...]) -> dict[str, Any]:
    """One pod on each of these nodes, whichever."""
    made = copy.deepcopy(workload)
    labels = {"matchLabels": {"slurm-k8s-bridge/run": made["metadata"]["name"]}}
    allowed = {"matchExpressions": [{"key": _HOST, "operator": "In", "values": list(nodes)}]}
    pod = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    del pod["schedulingGates"], pod["tolerations"]
    pod["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [allowed]}},
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": labels, "topologyKey": _HOST}]
        },
    }
    return made


@contextmanager
def open_to_all(stack: Stack, nodes: Sequence[str]) -> Iterator[None]:
    """Nodes without the taint that only pods behind a gate may tolerate. No workload is left afterwards."""
    taint = f"{wellknown.TAINT}:NoSchedule"
    stack.kubectl("taint", "nodes", *nodes, f"{taint}-")
    try:
        yield
    finally:
        stack.kubectl("-n", stack.namespace, "delete", "pytorchjobs", "--all", _PATIENCE)
        stack.kubectl("taint", "nodes", *nodes, taint)


def begin(stack: Stack, workload: dict[str, Any], count: int) -> float:
    """Seconds of `kubectl apply` and `kubectl wait` until all pods are Ready."""
    namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    began = time.monotonic()
    stack.kubectl("apply", "-f", "-", stdin=json.dumps(workload))
    pods = [f"pod/{name}-worker-{rank}" for rank in range(count)]
    stack.kubectl("-n", namespace, "wait", "--for=create", _PATIENCE, pods[-1])
    stack.kubectl("-n", namespace, "wait", "--for=condition=Ready", _PATIENCE, *pods)
    return time.monotonic() - began


def end(stack: Stack, workload: dict[str, Any]) -> float:
    """Seconds of `kubectl delete --wait` until the workload and what belongs to it is gone."""
    meta = workload["metadata"]
    began = time.monotonic()
    words = ["delete", "--cascade=foreground", "--wait", _PATIENCE, f"pytorchjob/{meta['name']}"]
    stack.kubectl("-n", meta["namespace"], *words)
    return time.monotonic() - began
