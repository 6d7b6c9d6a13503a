"""Rows of what the API server's admission says on the real stack, of what others put into pods, and of the workload's
name. Many jobs at once: none of them costs a node."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .policies import ADMISSION, PODS, bears, in_force, marked, meddling, probe
from .rows import NAMESPACED, Case, applied, hears, hindered, manifest, refused
from .stack import Stack

pytestmark = pytest.mark.usefixtures("soon_missed")
HERE = ("-N1", "--nodelist=compute1")  # whose daemon is asked to explain


def test_what_somebody_else_puts_into_pods(stack: Stack) -> None:
    gate = 'op: "add", path: "/spec/schedulingGates/-", value: {"name": "somebody.example.com/gate"}'
    term = '{"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}'
    rule = (
        f'{{"nodeAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution": {{"nodeSelectorTerms": [{term}]}}}}}}'
    )
    affinity = f'op: "add", path: "/spec/affinity", value: {rule}'
    elsewhere = 'op: "add", path: "/spec/nodeSelector", value: {"nobody.example.com/has": "this"}'
    with applied(stack, *meddling("gate", gate), *meddling("affinity", affinity), *meddling("elsewhere", elsewhere)):
        in_force(stack, "Pod", "somebody.example.com/gate", "gate")
        in_force(stack, "Pod", "nodeSelectorTerms", "affinity")
        in_force(stack, "Pod", "nobody.example.com/has", "elsewhere")
        hindered(
            stack,
            Case("foreign-gate", marked(stack, "gate"), "somebody.example.com/gate"),
            Case("foreign-affinity", marked(stack, "affinity"), options=("--no-requeue",)),
            Case("unschedulable", marked(stack, "elsewhere"), "node affinity/selector"),
        )


def test_what_admission_says_of_workload_and_pods(stack: Stack) -> None:
    """Each time of one job alone, and that one is cancelled."""
    overhead = 'op: "add", path: "/spec/overhead", value: {"cpu": "1m"}'
    shared = 'op: "add", path: "/spec/hostPID", value: true'
    large = [{"name": "A", "value": "<" * 400_000}]  # the API server writes each of them as six characters
    unheard = {"postStart": {"exec": {"command": ["true"], "unheard": 1}}}
    with applied(
        stack, *meddling("overhead", overhead), *meddling("shared", shared), strict_webhook(stack, "validated")
    ):
        in_force(stack, "Pod", "Pod Overhead set", "overhead")
        in_force(stack, "Pod", "violates PodSecurity", "shared")
        in_force(stack, "Pod", "denied the request", "validated")
        refused(
            stack,
            Case("object-too-large", manifest(stack, env=large), "larger than max"),
            Case("admission-denied", marked(stack, "overhead"), "Pod Overhead set without"),
            Case("pod-security", marked(stack, "shared"), "host namespaces (hostPID=true)"),
            Case("webhook-denied", marked(stack, "validated"), 'admission webhook "validated.example.test" denied'),
            Case("unknown-field", manifest(stack, lifecycle=unheard), "exec.unheard"),
            Case("object-invalid", manifest(stack, imagePullPolicy="Now"), 'Unsupported value: "Now"'),
        )


def strict_webhook(stack: Stack, mark: str) -> dict[str, Any]:
    """The operator's own webhook, asked about pods of this mark: it takes them for workloads, and for wrong ones."""
    name = "validator.training-operator.kubeflow.org"
    operators = json.loads(stack.kubectl("get", "validatingwebhookconfiguration", name, "-o", "json"))
    hook = operators["webhooks"][0] | {
        "name": f"{mark}.example.test",
        "rules": [PODS],
        "namespaceSelector": NAMESPACED,
        "matchConditions": [{"name": "meant", "expression": bears(mark)}],
    }
    kind = "ValidatingWebhookConfiguration"
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": mark}, "webhooks": [hook]}


def test_names_that_are_taken(stack: Stack) -> None:
    """By what an earlier run has left, and by an object of somebody else: the jobs run as soon as these are gone."""
    ours, theirs = (stack.submit(manifest(stack), *HERE, "--hold") for _ in range(2))
    before = [taken(stack, f"slurm-demo-{job.id}-0") for job in (ours, theirs)]
    before[0]["metadata"] |= {"labels": {"slurm-k8s-bridge/run": f"slurm-demo-{ours.id}-0"}, "finalizers": ["a.b/c"]}
    before[0]["metadata"] |= {"annotations": {"slurm-k8s-bridge/nodes": "compute1"}}
    with applied(stack, before[1]):
        stack.kubectl("create", "-f", "-", stdin=json.dumps(before[0]))
        for job in (ours, theirs):
            stack.exec("login", "scontrol", "release", str(job.id), user="ml")
        hears(stack, ours, "predecessor")
        hears(stack, theirs, "name-taken")
        free = (
            "patch",
            "pytorchjob",
            f"slurm-demo-{ours.id}-0",
            "--type=merge",
            "-p",
            '{"metadata": {"finalizers": null}}',
        )
        stack.kubectl("-n", stack.namespace, *free)
    stack.await_ended([ours, theirs], 90)
    assert [stack.state(job) for job in (ours, theirs)] == ["COMPLETED"] * 2


def taken(stack: Stack, name: str) -> dict[str, Any]:
    """A workload of this name that has no pods."""
    workload: dict[str, Any] = json.loads(probe(stack, "PyTorchJob"))
    workload["metadata"]["name"] = name
    workload["spec"]["runPolicy"] = {"suspend": True}
    return workload


def test_what_bridge_toml_names_and_the_cluster_lacks(stack: Stack) -> None:
    strange = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "strange"}, "handler": "x"}
    with (
        applied(stack, strange),
        stack.configured("compute1", pod={"priority_class": "nothing"}),
        stack.configured("compute2", pod={"runtime_class": "strange"}),
    ):
        hindered(
            stack,
            Case("site-object-missing", manifest(stack), "no PriorityClass with name nothing", node="compute1"),
            Case("sandbox", manifest(stack), 'no runtime for "x" is configured', node="compute2"),
        )


def test_a_namespace_that_is_not_there_or_not_for_long(stack: Stack) -> None:
    group = "rbac.authorization.k8s.io"
    subject = {"kind": "Group", "name": "system:serviceaccounts:slurm-k8s-bridge", "apiGroup": group}
    everywhere = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "everywhere"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    with (
        applied(stack, everywhere),
        ending_namespace(stack, "ending"),
        stack.configured("compute1", kubernetes={"namespace": "ending"}),
        stack.configured("compute2", kubernetes={"namespace": "nowhere"}),
    ):
        hindered(
            stack,
            Case("namespace-ending", manifest(stack), "because it is being terminated", node="compute1"),
            Case("namespace-missing", manifest(stack), 'namespaces "nowhere" not found', node="compute2"),
        )


@contextmanager
def ending_namespace(stack: Stack, name: str) -> Iterator[None]:
    """A namespace that is being deleted, and held back by an object in it."""
    metadata = {"name": "held", "namespace": name, "finalizers": ["a.b/c"]}
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    with applied(stack, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}):
        stack.kubectl("create", "-f", "-", stdin=json.dumps(held))
        stack.kubectl("delete", "namespace", name, "--wait=false")
        try:
            yield
        finally:
            stack.kubectl(
                "-n", name, "patch", "configmap", "held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}'
            )
