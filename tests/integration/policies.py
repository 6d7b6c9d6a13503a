"""What others than the bridge decide about pods and workloads: policies for jobs of one mark, and when they hold."""

import json
from collections.abc import Iterator
from typing import Any

from .rows import NAMESPACED, manifest
from .stack import Stack, eventually

PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
ADMISSION = "admissionregistration.k8s.io/v1"
_OF_POD = "object.spec.containers[0]"


def marked(stack: Stack, mark: str) -> str:
    """A job that a rule of this mark concerns, and no other rule."""
    return manifest(stack, "sh", "-c", f"true # {mark}")


def bears(mark: str, container: str = _OF_POD) -> str:
    """Whether an object is of such a job, in CEL."""
    return f"{container}.command.size() == 3 && {container}.command[2] == 'true # {mark}'"


def meddling(mark: str, *patches: str) -> Iterator[dict[str, Any]]:
    """A policy that changes pods of this mark."""
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [PODS], "namespaceSelector": NAMESPACED},
        "matchConditions": [{"name": "meant", "expression": bears(mark)}],
        "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[JSONPatch{{{patch}}}]"}} for patch in patches
        ],
    }
    yield from bound("MutatingAdmissionPolicy", mark, spec, {})


def bound(kind: str, name: str, spec: dict[str, Any], binding: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A policy in force."""
    yield {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
    binding = binding | {"policyName": name}
    yield {"apiVersion": ADMISSION, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": binding}


def probe(stack: Stack, kind: str, mark: str = "") -> str:
    """A pod as the operator would make it, or a workload, for a dry run."""
    limits = {"limits": {"cpu": "2"}}
    secure = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 1,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "pytorch", "image": "x", "resources": limits, "securityContext": secure}
    pod = {"containers": [container | {"command": ["sh", "-c", f"true # {mark}"]}]}
    pod["schedulingGates"] = [{"name": "nobody.example.com/gate"}]
    metadata = {"name": "probe", "namespace": stack.namespace}
    if kind == "Pod":
        return json.dumps({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": pod})
    replicas = {"Worker": {"replicas": 1, "template": {"spec": pod}}}
    workload = {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata}
    return json.dumps(workload | {"spec": {"pytorchReplicaSpecs": replicas}})


def in_force(stack: Stack, kind: str, words: str, mark: str = "") -> None:
    """The API server judges by what was just applied: a dry run says so, or shows what was changed."""
    dry = ("create", "--dry-run=server", "-o", "json", "-f", "-")
    eventually(lambda: words in stack.answer(*dry, stdin=probe(stack, kind, mark)), 30, words)
