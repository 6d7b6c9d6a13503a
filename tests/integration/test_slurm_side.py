"""Slurm's side of a run that does not end well, as `kubectl` tells it of the PyTorchJob."""

import json
from typing import Any

from .specs import container_job, training
from .stack import Job, Stack, eventually

_REASONS = {"SlurmJobGivenUp", "SlurmJobStopped", "SlurmJobFailed"}


def test_scancel_while_it_trains(stack: Stack) -> None:
    job = stack.submit(training(stack.images["train"], "--epochs", "1000", "--pause", "1"), "-N2", "--gpus-per-node=2")
    eventually(lambda: "loss" in stack.output(job), 60, "training")
    stack.exec("login", "scancel", str(job.id), user="ml")
    stack.await_ended([job], 60)
    stack.await_idle(60)
    (event,) = told(stack, job)
    assert event["reason"] == "SlurmJobStopped"
    assert "Slurm ended the job while its training ran: cancelled" in event["message"]


def test_an_image_that_does_not_exist(stack: Stack) -> None:
    job = stack.run(container_job("registry:5000/skb/nothing:1", "true"), "-N2", "--gpus-per-node=2", seconds=60)
    stack.await_idle(60)
    (event,) = told(stack, job)
    assert event["reason"] == "SlurmJobGivenUp"
    assert "verdict job: failed: image registry:5000/skb/nothing:1 does not exist" in event["message"]


def test_kubectl_describe_tells_it_of_a_training_that_failed(stack: Stack) -> None:
    """While the script goes on behind `attach`, no epilog has deleted the PyTorchJob."""
    spec = container_job(stack.images["small"], "exit 3")
    job = stack.submit(spec, "-N1", script="bridgectl attach; sleep 600")
    (event,) = eventually(lambda: told(stack, job), 60, "event")
    assert event["reason"] == "SlurmJobFailed"
    described = stack.kubectl("-n", stack.namespace, "describe", "pytorchjob", event["involvedObject"]["name"])
    assert "SlurmJobFailed" in described
    stack.exec("login", "scancel", str(job.id), user="ml")
    stack.await_ended([job], 60)
    stack.await_idle(60)
    assert [event["reason"] for event in told(stack, job)] == ["SlurmJobFailed"]


def test_a_run_that_ends_well_has_none(stack: Stack) -> None:
    job = stack.run(container_job(stack.images["small"], "true"), "-N2")
    stack.await_idle(60)
    assert stack.state(job) == "COMPLETED"
    assert not told(stack, job)


def told(stack: Stack, job: Job) -> list[dict[str, Any]]:
    """The events that tell Slurm's side of this job."""
    events = json.loads(stack.kubectl("-n", stack.namespace, "get", "events", "-o", "json"))["items"]
    of_job = [event for event in events if event["involvedObject"]["name"].endswith(f"-{job.id}-0")]
    return [event for event in of_job if event["reason"] in _REASONS]
