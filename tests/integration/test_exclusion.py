"""Law 1: a GPU is never in two hands. The proof: an flock on one file of the host per GPU."""

import pytest

from .specs import container_job
from .stack import NODES, Stack, eventually

_ON_COMPUTE1 = ("-N1", "-w", "compute1", "--gpus-per-node=2")


def test_the_proof_notices_two_holders(stack: Stack) -> None:
    """A holder on the host, and a job beside it that gets the same GPU on purpose."""
    holder = "flock /run/gpu-lock/gpu0 sleep 300"
    stack.sh("compute1", f"setsid {holder} >/dev/null 2>&1 </dev/null &")
    try:
        look = "flock -n /run/gpu-lock/gpu0 true || echo held"
        eventually(lambda: stack.sh("compute1", look), 5, "holder")
        job = stack.run(container_job(stack.images["small"], "hold-gpu 1"), *_ON_COMPUTE1)
        assert "IN TWO HANDS" in stack.output(job)
        assert stack.sacct(job, "ExitCode") == "42:0"
    finally:
        stack.sh("compute1", f"pkill -f '^{holder}' ; pkill -f '^sleep 300'; true")


@pytest.mark.timeout(600)
def test_twenty_jobs_one_after_the_other_on_either_node_side_by_side(stack: Stack) -> None:
    spec = container_job(stack.images["small"], "hold-gpu 1")
    jobs = [stack.submit(spec, "-N1", "-w", node, "--gpus-per-node=2") for _ in range(20) for node in NODES]
    stack.await_ended(jobs, 400)
    for job in jobs:
        assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0", stack.output(job)
        assert "held by" in stack.output(job)
        assert "IN TWO HANDS" not in stack.output(job)


def test_cancelled_holders_that_ignore_sigterm_keep_their_gpu_to_the_end(stack: Stack) -> None:
    stubborn = container_job(stack.images["small"], "trap '' TERM; hold-gpu 300")
    following = container_job(stack.images["small"], "hold-gpu 1")
    for _ in range(2):
        first = stack.submit(stubborn, *_ON_COMPUTE1)
        eventually(lambda job=first: "held by" in stack.output(job), 30, "first holder")  # type: ignore[misc]
        second = stack.submit(following, *_ON_COMPUTE1)
        stack.exec("login", "scancel", str(first.id), user="ml")
        stack.await_ended([first, second], 120)
        assert "held by" in stack.output(second) and "IN TWO HANDS" not in stack.output(second)
        assert stack.state(second) == "COMPLETED"
