"""The naive peer: kubectl in each node's prolog and epilog, as sites do it today. The same objects without gates, held
apart by anti-affinity."""

import copy
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bridge import wellknown
from tests.integration.stack import Stack

_HOST = "kubernetes.io/hostname"
_BUSY = "Unable to connect to the server"
_TRIES = 5
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
    """Seconds of `kubectl apply` in the first node's prolog and `kubectl wait` in each, until all pods are Ready."""
    namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    began = time.monotonic()
    stack.kubectl("apply", "-f", "-", stdin=json.dumps(workload))
    pods = [f"pod/{name}-worker-{rank}" for rank in range(count)]
    for until in ("create", "condition=Ready"):
        _on_each_node(stack, [["-n", namespace, "wait", f"--for={until}", _PATIENCE, pod] for pod in pods])
    return time.monotonic() - began


def end(stack: Stack, workload: dict[str, Any], count: int) -> float:
    """Seconds of `kubectl delete --wait` in each node's epilog, until the workload and what belongs to it is gone."""
    meta = workload["metadata"]
    began = time.monotonic()
    words = ["-n", meta["namespace"], "delete", "--cascade=foreground", "--ignore-not-found", "--wait", _PATIENCE]
    _on_each_node(stack, [[*words, f"pytorchjob/{meta['name']}"]] * count)
    return time.monotonic() - began


def _on_each_node(stack: Stack, commands: Sequence[Sequence[str]]) -> None:
    """All at once, as Slurm starts hooks. What finds the API server too busy to connect tries again, as a site's
    script has to."""
    left = list(commands)
    for _ in range(_TRIES):
        started = [
            subprocess.Popen(
                stack.kubectl_command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            for words in left
        ]
        ended = [
            (words, process.communicate()[1], process.returncode) for words, process in zip(left, started, strict=True)
        ]
        left = [words for words, _, code in ended if code]
        if not left:
            return
        complaints = [said for _, said, code in ended if code]
        others = [said for said in complaints if _BUSY not in said]
        assert not others, others[0]
    raise AssertionError(f"{len(left)} commands found the API server too busy {_TRIES} times: {complaints[0]}")
