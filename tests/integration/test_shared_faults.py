"""A fault that all nodes share burns no node and loses no job: it goes back into the queue with the reason."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from .detours import kubeconfig, with_token
from .rows import hears
from .specs import container_job, pytorch_job
from .stack import Job, Stack, eventually

Fault = Callable[[Stack], AbstractContextManager[None]]
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
    eventually(lambda: stack.show(job).get("Reason") == reason, 90, f"job {job.id} pending for {reason}")
    stack.await_idle(60)
    assert stack.show(job)["JobState"] == "PENDING"
    assert stack.show(job)["Restarts"] == "1"


def test_an_image_that_does_not_come_in_time_is_tried_again(stack: Stack) -> None:
    # A kubelet lets go of a pod only when the pull has come to its end; until then Slurm shows COMPLETING.
    with stack.registry_answering("hang"):
        job = stack.submit(pulled_anew(stack), "-N2", "--gpus-per-node=2")
        comes_to(stack, job, "try 1 of 3 failed, requeued: ")
    waits_in_queue(stack, job, "BeginTime")
    stack.await_end(job, 90)
    assert stack.state(job) == "COMPLETED"
    assert "trained" in stack.output(job)
    assert stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: 2/2 ranks exited 0; ready after ")


def test_a_job_that_may_not_be_requeued_is_cancelled_with_the_reason(stack: Stack) -> None:
    with stack.registry_answering("hang"):
        job = stack.submit(pulled_anew(stack), "-N1", "--gpus-per-node=2", "--no-requeue")
        comes_to(stack, job, "failed: ")
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
        comes_to(stack, spared, "requeued: the API server has not answered for ")
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


@contextmanager
def bad_token(stack: Stack) -> Iterator[None]:
    """The nodes' credential for Kubernetes is not taken any more."""
    with ExitStack() as undone:
        for node in stack.nodes:
            undone.enter_context(kubeconfig(stack, node, lambda text: with_token(text, "expired")))
        yield


@contextmanager
def api_server_hangs(stack: Stack) -> Iterator[None]:
    with stack.paused("kube-apiserver"):
        yield


@contextmanager
def operator_stopped(stack: Stack) -> Iterator[None]:
    with stack.stopped("training-operator"):
        yield


@contextmanager
def etcd_stopped(stack: Stack) -> Iterator[None]:
    """The API server is there, and fails."""
    with stack.stopped("etcd"):
        yield


@contextmanager
def registry_down(stack: Stack) -> Iterator[None]:
    with stack.registry_answering("503"):
        yield


@contextmanager
def nodes_tainted(stack: Stack) -> Iterator[None]:
    taint = "somebody/works-here"
    stack.kubectl("taint", "nodes", *stack.nodes, f"{taint}:NoSchedule")
    try:
        yield
    finally:
        stack.kubectl("taint", "nodes", *stack.nodes, f"{taint}-")


@contextmanager
def namespace_without_rights(stack: Stack) -> Iterator[None]:
    with stack.configured(kubernetes={"namespace": "default"}):
        yield


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (bad_token, "credential"),
        (etcd_stopped, "the API server"),
        (registry_down, "could not be pulled"),
        (nodes_tainted, "untolerated taint"),
        (namespace_without_rights, "cannot create resource"),
        (api_server_hangs, "the API server"),
        (operator_stopped, "a webhook that Kubernetes asks about the workload does not answer"),
    ],
)
def test_what_all_nodes_share_drains_none(stack: Stack, fault: Fault, words: str) -> None:
    with fault(stack):
        job = stack.submit(pulled_anew(stack), "-N2", "--gpus-per-node=2", "--no-requeue")
        comes_to(stack, job, "failed: ")
        assert words in stack.comment(job)
        eventually(lambda: stack.show(job)["JobState"] in ("CANCELLED", "COMPLETING"), 20, "the job cancelled")
    stack.await_end(job, 90)
    assert stack.state(job) == "CANCELLED"


def test_without_slurmrestd_the_job_is_requeued_all_the_same(stack: Stack) -> None:
    with stack.stopped("slurmrestd"):
        job = stack.submit(container_job(stack.images["small"], "true"), "-N1", "-w", "compute1")
        hears(stack, job, "slurmrestd-unreachable")
        waits_in_queue(stack, job, "BeginTime")
    stack.exec("login", "scancel", str(job.id), user="ml")


def test_slurmctld_restarts_while_a_prolog_waits(stack: Stack) -> None:
    """No node is drained for it. Slurm 24.11 itself may forget the script of such a job, so it is cancelled here."""
    with stack.registry_answering("hang"):
        job = stack.submit(pulled_anew(stack), "-N2", "--gpus-per-node=2")
        eventually(lambda: len(stack.objects("pods")) == 2, 20, "both pods")
        stack.docker("restart", "slurmctld")
    for node in stack.nodes:
        eventually(lambda node=node: _prolog_exits(stack, node, job), 60, f"the prolog on {node}")  # type: ignore[misc]
        assert _prolog_exits(stack, node, job) == [0]
    stack.exec("slurmctld", "scancel", str(job.id))
    stack.await_end(job, 90)


def _prolog_exits(stack: Stack, node: str, job: Job) -> list[int]:
    told = [event for event in stack.daemon_log(node, job) if event["event"] == "hook_answered"]
    return [event["exit"] for event in told if event["phase"] == "prolog"]


def test_a_flapping_api_server_is_outlived(stack: Stack) -> None:
    """In prolog, training and epilog."""
    job = stack.submit(container_job(stack.images["small"], "sleep 12; echo trained"), "-N2", "--gpus-per-node=2")
    end = time.monotonic() + 30
    while time.monotonic() < end and stack.show(job).get("JobState") in ("PENDING", "RUNNING", "COMPLETING"):
        with stack.paused("kube-apiserver"):
            time.sleep(2)  # the fault itself: so long it does not answer
    stack.await_end(job, 90)
    assert stack.state(job) == "COMPLETED"
    assert stack.output(job).count("trained") == 2
