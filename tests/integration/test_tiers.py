"""Whose rights in Slurm a daemon has: a site that forbids `scontrol token` gives the bridge a token of its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from .specs import container_job
from .stack import Stack

_SCONTROL = "/usr/bin/scontrol"


@contextmanager
def without_scontrol(stack: Stack, node: str) -> Iterator[None]:
    """The hooks of this node can mint no token."""
    stack.exec(node, "mv", _SCONTROL, f"{_SCONTROL}.away")
    try:
        yield
    finally:
        stack.exec(node, "mv", f"{_SCONTROL}.away", _SCONTROL)


def test_a_run_without_its_owners_token_is_reported_with_the_service_token(stack: Stack) -> None:
    with (
        stack.service_token("service") as tier,
        stack.configured(slurmrest=tier),
        without_scontrol(stack, "compute1"),
    ):
        assert json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))["tier"] == "service"
        job = stack.run(container_job(stack.images["small"], "echo done"), "-N1", "-w", "compute1")
        assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
        assert stack.output(job) == "done\n"
        assert stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: 1/1 ranks exited 0")
