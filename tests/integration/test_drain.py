"""Tier administrator: a drain says why in words of ours, and the proof of release lifts it, but nobody else's."""

from collections.abc import Iterator

import pytest

from .drains import gpu_held, is_released, reason
from .nodes import stopped
from .specs import container_job
from .stack import Job, Stack, eventually


@pytest.fixture(scope="module", autouse=True)
def _administrator(running_stack: Stack) -> Iterator[None]:
    """The daemons may drain and resume, and give an epilog up soon."""
    with (
        running_stack.service_token("administrator") as tier,
        running_stack.configured(slurmrest=tier, timing={"epilog_deadline": 8.0}),
    ):
        yield


def drained(stack: Stack) -> Job:
    """A job on compute1 whose epilog has been given up."""
    spec = container_job(stack.images["small"], "true")
    job = stack.submit(spec, "-N1", "--nodelist=compute1", "--gpus-per-node=2")
    eventually(lambda: reason(stack, "compute1"), 60, "compute1 drained")
    return job


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
