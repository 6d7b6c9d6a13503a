"""A fault that all nodes share burns no node and loses no job: it goes back into the queue with the reason."""

import json
from collections.abc import Iterator

import pytest

from .specs import container_job, pytorch_job
from .stack import Job, Stack, eventually

THIRD = "k8s=job.yaml | k8s: try 2 of 3 failed, requeued: the API server does not answer"


@pytest.fixture(scope="module", autouse=True)
def _impatient(running_stack: Stack) -> Iterator[None]:
    """The pods have half of the deadline; a breaker that opens after the first failed try."""
    timing = {"prolog_deadline": 24.0, "breaker_after": 0.1, "breaker_patience": 2.0}
    with running_stack.configured(timing=timing):
        yield


def pulled_anew(stack: Stack) -> str:
    """A manifest whose image the kubelets ask the registry for, although they have it."""
    manifest = json.loads(pytorch_job(stack.images["small"]))
    for replica in manifest["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", "echo trained"]
    return json.dumps(manifest)


def comes_to(stack: Stack, job: Job, words: str) -> None:
    """Its comment says so."""
    eventually(lambda: words in stack.comment(job), 60, f"{words!r} in the comment of job {job.id}")


def waits_in_queue(stack: Stack, job: Job, reason: str) -> None:
    """Requeued once, with this reason, and the nodes in service."""
    stack.await_idle(60)
    eventually(lambda: stack.show(job).get("Reason") == reason, 20, f"job {job.id} pending for {reason}")
    assert stack.show(job)["JobState"] == "PENDING"
    assert stack.show(job)["Restarts"] == "1"


def test_an_image_that_does_not_come_in_time_is_tried_again(stack: Stack) -> None:
    stack.registry({"mode": "hang", "match": "/skb/small/"})
    job = stack.submit(pulled_anew(stack), "-N2", "--gpus-per-node=2")
    comes_to(stack, job, "try 1 of 3 failed, requeued: ")
    # A kubelet lets go of a pod only when the pull has come to its end; until then Slurm shows COMPLETING.
    stack.registry({"mode": "ok"})
    waits_in_queue(stack, job, "BeginTime")
    stack.await_end(job, 90)
    assert stack.state(job) == "COMPLETED"
    assert "trained" in stack.output(job)
    assert stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: 2/2 ranks exited 0; ready after ")


def test_a_job_that_may_not_be_requeued_is_cancelled_with_the_reason(stack: Stack) -> None:
    stack.registry({"mode": "hang", "match": "/skb/small/"})
    job = stack.submit(pulled_anew(stack), "-N1", "--gpus-per-node=2", "--no-requeue")
    comes_to(stack, job, "failed: ")
    stack.registry({"mode": "ok"})
    stack.await_end(job)
    assert stack.state(job) == "CANCELLED"
    assert "not started after" in stack.output(job)


def test_the_third_time_it_is_held_and_a_breaker_spares_the_next_job(stack: Stack) -> None:
    with stack.stopped("kube-apiserver"):
        here = ("-N1", "--nodelist=compute1")  # each daemon knows of an outage what it has met itself
        held = stack.submit(container_job(stack.images["small"], "true"), *here, f"--comment={THIRD}")
        comes_to(stack, held, "try 3 of 3 failed, held: ")
        stack.await_idle(30)  # nothing was created for it, so nothing has to be proven
        spared = stack.submit(container_job(stack.images["small"], "true"), *here)
        comes_to(stack, spared, "no workload is started until it does")
    waits_in_queue(stack, held, "job_requeued_in_held_state")
    waits_in_queue(stack, spared, "BeginTime")
    stack.exec("login", "scontrol", "release", str(held.id), user="ml")
    eventually(lambda: stack.show(held)["Reason"] == "BeginTime", 20, "released by its owner")
    stack.exec("login", "scancel", str(held.id), str(spared.id), user="ml")


def test_a_users_mistake_is_held_where_the_site_says_so(stack: Stack) -> None:
    with stack.configured(on_job_fault="hold"):
        job = stack.submit("kind: Nonsense", "-N1")
        comes_to(stack, job, "held: ")
        waits_in_queue(stack, job, "job_requeued_in_held_state")
        assert "kind" in stack.output(job)
    stack.exec("login", "scancel", str(job.id), user="ml")
