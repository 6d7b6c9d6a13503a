"""Rows that a node meets in a moment when a part of it is away: its kubelet, its device plugin, the scheduler."""

import json

from .nodes import drained_alone, mended, stopped
from .rows import await_training, hears, in_training, manifest, taken_away
from .specs import container_job
from .stack import Stack, eventually

_MEMORY = "/var/lib/containerd/io.containerd.grpc.v1.cri/containers"


def test_a_container_that_its_runtime_has_forgotten(stack: Stack) -> None:
    job = in_training(stack, "compute2")
    await_training(stack, job)
    (pod,) = stack.objects("pods")
    (container,) = pod["status"]["containerStatuses"]
    status = f"{_MEMORY}/{container['containerID'].removeprefix('containerd://')}/status"
    with stopped(stack, "compute2", "kubelet", "containerd"):
        stack.sh("compute2", f"test -s {status} && : >{status}")
    taken_away(stack, job, "container-lost", "compute2")


def test_a_device_plugin_that_is_late(stack: Stack) -> None:
    with stopped(stack, "compute2", "gpu-plugin"):
        gpus = r"jsonpath={.status.allocatable.nvidia\.com/gpu}=0"
        stack.kubectl("wait", f"--for={gpus}", "--timeout=60s", "node/compute2")
        job = stack.submit(manifest(stack), "-N1", "--nodelist=compute2", "--gpus-per-node=2")
        hears(stack, job, "gpus-missing", "compute2")
    stack.await_end(job, 90)
    assert stack.state(job) == "COMPLETED"


def test_a_kubelet_that_refuses_the_pod(stack: Stack) -> None:
    """It was given one while it was away, and is back before its device plugin."""
    with stopped(stack, "compute1", "kubelet", "gpu-plugin"):
        spec = container_job(stack.images["small"], "true")
        job = stack.submit(spec, "-N1", "--nodelist=compute1", "--gpus-per-node=2")
        eventually(lambda: any(pod["spec"].get("nodeName") for pod in stack.objects("pods")), 60, "a pod on the node")
        stack.exec("compute1", "systemctl", "start", "kubelet")
        drained_alone(stack, job, "compute1", "the kubelet of compute1 refused the pod of rank 0: UnexpectedAdmission")
    stack.exec("login", "scancel", str(job.id), user="ml")
    mended(stack, "compute1")


def test_a_scheduler_that_is_away(stack: Stack) -> None:
    with stack.configured(timing={"prolog_deadline": 24.0}), stack.stopped("kube-scheduler"):
        job = stack.submit(manifest(stack), "-N1", "--nodelist=compute1", "--no-requeue")
        stack.await_ended([job], 90)
    stack.await_idle(60)
    assert stack.state(job) == "CANCELLED"
    assert json.loads(stack.exec("compute1", "bridgectl", "explain", str(job.id), "--json"))["row"] == "not-started"
