"""Tier administrator: a drain says why in words of ours, and the proof of release lifts it, but nobody else's."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .nodes import stopped
from .specs import container_job
from .stack import NODES, Job, Stack, eventually

GPU = "/dev/fakegpu0"
TOKEN = "/etc/slurm-k8s-bridge/service.jwt"


@pytest.fixture(scope="module", autouse=True)
def _administrator(running_stack: Stack) -> Iterator[None]:
    """The daemons may drain and resume, and give an epilog up soon."""
    token = running_stack.exec("slurmctld", "scontrol", "token", "username=slurm", "lifespan=3600")
    for node in NODES:
        install = f"install -m 600 -o slurm-k8s-bridge /dev/stdin {TOKEN}"
        running_stack.exec(node, "sh", "-c", install, stdin=token)
    rights = {"tier": "administrator", "service_user": "slurm", "service_token_file": TOKEN}
    with running_stack.configured(slurmrest=rights, timing={"epilog_deadline": 8.0}):
        yield
    for node in NODES:
        running_stack.exec(node, "rm", TOKEN)


@contextmanager
def gpu_held(stack: Stack, node: str) -> Iterator[None]:
    """A process of the job's owner, in no pod, holds a GPU of this node."""
    words = [
        "docker",
        "exec",
        "-i",
        "--user",
        "ml",
        stack.container(node),
        "sh",
        "-c",
        f"exec 3< {GPU}; echo held; cat",
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.stdin.close()


def reason(stack: Stack, node: str) -> str:
    """Why Slurm says that this node is out of service; '' when it is in service."""
    # A line for each of its partitions.
    shown = stack.exec("login", "sinfo", "-h", "-N", "-n", node, "-o", "%T|%E").splitlines()
    state, _, words = shown[0].partition("|")
    return words if "drain" in state else ""


def drained(stack: Stack) -> Job:
    """A job on compute1 whose epilog has been given up."""
    spec = container_job(stack.images["small"], "true")
    job = stack.submit(spec, "-N1", "--nodelist=compute1", "--gpus-per-node=2")
    eventually(lambda: reason(stack, "compute1"), 60, "compute1 drained")
    return job


def is_released(stack: Stack, job: Job, node: str = "compute1") -> bool:
    """The run's marker is gone from this node."""
    return str(job.id) not in stack.exec(node, "ls", "/var/lib/slurm-k8s-bridge/runs").split()


def test_a_drain_for_want_of_proof_is_lifted_by_the_proof(stack: Stack) -> None:
    with gpu_held(stack, "compute1"):
        job = drained(stack)
        said = f"slurm-k8s-bridge slurm-demo-{job.id}-0: slurm-demo-{job.id}-0 is not proven gone from this node"
        assert reason(stack, "compute1").startswith(said)
        assert not is_released(stack, job)
    stack.await_idle(30)
    eventually(lambda: is_released(stack, job), 10, "the run's marker removed")
    stack.await_ended([job], 30)
    assert stack.state(job) == "COMPLETED"


def test_a_drain_that_somebody_else_set_stays(stack: Stack) -> None:
    with gpu_held(stack, "compute1"):
        job = drained(stack)
        update = ["scontrol", "update", "nodename=compute1", "state=drain", "reason=bad DIMM"]
        stack.exec("slurmctld", *update)
    eventually(lambda: is_released(stack, job), 30, "the run's marker removed")
    assert reason(stack, "compute1") == "bad DIMM"
    stack.exec("slurmctld", "scontrol", "update", "nodename=compute1", "state=resume")


def test_a_node_at_fault_is_drained_with_the_reason_and_stays_so(stack: Stack) -> None:
    """That its last run is proven gone does not mend it."""
    watchful = stack.configured(timing={"node_patience": 6, "boot_grace": 1})
    with watchful, stopped(stack, "compute2", "kubelet"):
        job = stack.submit(container_job(stack.images["small"], "true"), "-N1", "-w", "compute2", "--gpus-per-node=2")
        eventually(lambda: "the kubelet of compute2 is dead" in reason(stack, "compute2"), 120, "compute2 drained")
        assert reason(stack, "compute2").startswith(f"slurm-k8s-bridge slurm-demo-{job.id}-0: ")
        stack.exec("login", "scancel", str(job.id), user="ml")
    eventually(lambda: is_released(stack, job, "compute2"), 90, "the run's marker removed")
    assert "the kubelet of compute2 is dead" in reason(stack, "compute2")
    stack.exec("slurmctld", "scontrol", "update", "nodename=compute2", "state=resume")
