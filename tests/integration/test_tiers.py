"""Whose rights in Slurm a daemon has: a site that forbids `scontrol token` gives the bridge a token of its own."""

import json

from .nodes import without_scontrol
from .specs import container_job
from .stack import Stack


def test_runs_without_their_owners_token_are_told_and_ended_with_an_operators(stack: Stack) -> None:
    with (
        stack.service_token("service") as tier,
        stack.configured(slurmrest=tier),
        without_scontrol(stack, "compute1"),
    ):
        assert json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))["tier"] == "service"
        job = stack.submit(container_job(stack.images["small"], "echo done"), "-c1", "-N1", "-w", "compute1")
        refused = stack.submit("kind: Sonata", "-c1", "-N1", "-w", "compute1")
        stack.await_ended([job, refused], 60)
        assert stack.state(refused) == "CANCELLED"
        assert stack.sacct(refused, "Comment").startswith("k8s=job.yaml | k8s: failed: ")
        assert "kind" in stack.output(refused)
        assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
        assert stack.output(job) == "done\n"
        assert stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: 1/1 ranks exited 0")
