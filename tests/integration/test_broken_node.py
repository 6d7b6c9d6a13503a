"""A broken node drains itself alone, with the precise reason, and its job goes on: elsewhere, or here once mended."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .nodes import answers, drained_alone, mended, stopped
from .specs import container_job
from .stack import Stack, eventually

_PATIENCE = 6  # seconds


@pytest.fixture
def watchful(stack: Stack) -> Iterator[Stack]:
    """A stack whose daemons soon look at their own nodes, and soon believe what they see."""
    with stack.configured(timing={"node_patience": _PATIENCE, "boot_grace": 1}):
        yield stack


def test_a_dead_kubelet(watchful: Stack) -> None:
    stack = watchful
    with stopped(stack, "compute2", "kubelet"):
        job = stack.submit(container_job(stack.images["small"], "echo done"), "-N2", "--gpus-per-node=2")
        drained_alone(stack, job, "compute2", "the kubelet of compute2 is dead")
        assert [code for code, _ in answers(stack, "compute1", job, "prolog")] == [0]
        assert stack.state(job) in ("PENDING", "REQUEUED"), "nobody has cancelled it"
        stack.exec("login", "scancel", str(job.id), user="ml")
    mended(stack, "compute2")


def test_a_dead_container_runtime_and_the_job_runs_on_the_other_node(watchful: Stack) -> None:
    stack = watchful
    with stopped(stack, "compute1", "containerd"):
        # The kubelet gives its runtime half a minute.
        job = stack.submit(container_job(stack.images["small"], "echo done"), "-N1", "--gpus-per-node=2")
        drained_alone(stack, job, "compute1", "the container runtime of compute1 does not work")
        eventually(lambda: stack.state(job) == "COMPLETED", 90, "its end on the other node")
        assert stack.sacct(job, "NodeList") == "compute2"
        assert stack.output(job) == "done\n"
    mended(stack, "compute1")


def test_a_device_plugin_that_is_gone(watchful: Stack) -> None:
    stack = watchful
    with stopped(stack, "compute1", "gpu-plugin"):
        # Before that the kubelet would take the pod and refuse it, which is another row.
        gpus = r"jsonpath={.status.allocatable.nvidia\.com/gpu}=0"
        stack.kubectl("wait", f"--for={gpus}", "--timeout=60s", "node/compute1")
        job = stack.submit(container_job(stack.images["small"], "echo done"), "-N1", "--gpus-per-node=2")
        drained_alone(stack, job, "compute1", "Kubernetes shows 0 nvidia.com/gpu where Slurm gave 2 on compute1")
        stack.exec("login", "scancel", str(job.id), user="ml")
    mended(stack, "compute1")


@contextmanager
def full_disk(stack: Stack, node: str) -> Iterator[str]:
    """The kubelet of this node finds no room for the directories of a pod; the directory to look at."""
    small, pods = "/run/small-disk", "/var/lib/kubelet/pods"
    fill = f"head -c 1M /dev/zero >{small}/filling 2>/dev/null; true"
    stack.sh(
        node, f"mkdir -p {small} && mount -t tmpfs -o size=64k none {small} && mount --bind {small} {pods} && {fill}"
    )
    try:
        yield small
    finally:
        stack.sh(node, f"rm {small}/filling; umount {pods} && umount -l {small}")


def test_a_full_disk(stack: Stack) -> None:
    spec, reason = container_job(stack.images["small"], "true"), "a disk of compute1 is full, and was before this job"
    with (
        full_disk(stack, "compute1") as disk,
        stack.configured(timing={"node_patience": _PATIENCE}, kubernetes={"disks": [disk]}),
    ):
        job = stack.submit(spec, "-N1", "-w", "compute1")
        drained_alone(stack, job, "compute1", f"{reason} came: {disk}")
        stack.exec("login", "scancel", str(job.id), user="ml")
    mended(stack, "compute1")


@contextmanager
def gpu_held(stack: Stack, node: str) -> Iterator[None]:
    """A process of the jobs' owner, in no pod, holds a GPU of this node."""
    as_ml = "setsid setpriv --reuid=ml --regid=ml --clear-groups"
    pid = stack.sh(node, f"{as_ml} sleep 47110816 </dev/fakegpu0 >/dev/null 2>&1 & echo $!").strip()
    try:
        yield
    finally:
        stack.exec(node, "kill", "-9", pid, check=False)


def test_leftovers_of_an_earlier_run_that_will_not_die(stack: Stack) -> None:
    spec, here = container_job(stack.images["small"], "echo done"), ("-N1", "-w", "compute1", "--gpus-per-node=2")
    with stack.configured(timing={"epilog_deadline": 3}), gpu_held(stack, "compute1"):
        earlier = stack.submit(spec, *here)
        eventually(lambda: stack.node_states()["compute1"] == "drained", 120, "the earlier run's epilog given up")
        with stack.configured(timing={"prolog_deadline": 8}):
            stack.exec("slurmctld", "scontrol", "update", "nodename=compute1", "state=resume")
            job = stack.submit(spec, *here)
            drained_alone(stack, job, "compute1", f"an earlier run (slurm-demo-{earlier.id}-0) is not proven gone")
            stack.exec("login", "scancel", str(job.id), user="ml")
    mended(stack, "compute1")
