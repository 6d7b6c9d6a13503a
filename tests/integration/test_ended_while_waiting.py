"""A job that ends while its prolog waits for an image: noticed within a poll period, on every node of it.

Its prologs end with 0, what was made for it is deleted, and its nodes are idle again by themselves.
"""

import sys
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from .specs import pytorch_job
from .stack import NODES, Job, Stack, eventually

_POLL = 5.0  # seconds, timing.poll_period's default
_MARGIN = 20.0  # on a machine with much else to do
_BOTH = ("-N2", "--gpus-per-node=2")


@pytest.fixture
def stuck(stack: Stack) -> Iterator[Stack]:
    """A stack whose registry has a bad night: no image comes."""
    with stack.registry_answering("503"):
        yield stack
    stack.exec("login", "scancel", "-u", "ml", check=False)


def waiting(stack: Stack, *options: str) -> Job:
    """A job on both nodes whose image does not come."""
    job = stack.submit(pytorch_job(stack.images["small"]), *_BOTH, *options)
    eventually(lambda: _pulling(stack) == 2, 60, "both pods waiting for their image")
    return job


def _pulling(stack: Stack) -> int:
    statuses = [status for pod in stack.objects("pods") for status in pod["status"].get("containerStatuses", [])]
    return sum("waiting" in status["state"] for status in statuses)


def prolog_ended(stack: Stack, job: Job, node: str) -> float | None:
    """When the prolog of a job was answered on a node, in seconds since the epoch; only ever with 0."""
    answers = [e for e in stack.daemon_log(node, job) if e["event"] == "hook_answered" and e["phase"] == "prolog"]
    assert [answer["exit"] for answer in answers] in ([], [0]), answers
    return datetime.fromisoformat(answers[0]["timestamp"]).timestamp() if answers else None


def ended_on(stack: Stack, job: Job, node: str, since: float, seconds: float = _POLL + _MARGIN) -> None:
    """The prolog of this node ended so soon after that moment."""
    eventually(lambda: prolog_ended(stack, job, node), seconds, f"the prolog's end on {node}")
    ended = prolog_ended(stack, job, node)
    assert ended is not None
    print(f"{node}: prolog ended {ended - since:+.1f} s after the job", file=sys.stderr)
    assert ended - since <= seconds


def clean_again(stack: Stack) -> None:
    """All of it is gone, and the nodes are idle by themselves."""
    eventually(lambda: not stack.names("pytorchjobs"), 30, "no workload")
    stack.await_idle(60)


def resume(stack: Stack, node: str) -> None:
    """The node is back; where its slurmd has registered meanwhile, slurmctld has seen that itself."""
    stack.exec("slurmctld", "scontrol", "update", f"nodename={node}", "state=resume", check=False)


def requeued(stack: Stack, job: Job) -> None:
    """It waits for another start, not held; the test has no use for that."""
    eventually(lambda: stack.show(job).get("JobState") == "PENDING", 60, "the job in the queue")
    shown = stack.show(job)
    assert shown["Restarts"] == "1" and "held" not in shown["Reason"].lower(), shown
    stack.exec("login", "scancel", str(job.id), user="ml")


def test_requeue(stuck: Stack) -> None:
    job, since = waiting(stuck), time.time()
    stuck.exec("slurmctld", "scontrol", "requeue", str(job.id))
    for node in NODES:
        ended_on(stuck, job, node, since)
    requeued(stuck, job)
    clean_again(stuck)


def test_time_limit(stuck: Stack) -> None:
    job = waiting(stuck)
    # Not "now": scontrol fills in the second, and slurmctld refuses the one that has just gone by.
    stuck.exec("slurmctld", "scontrol", "update", f"jobid={job.id}", "EndTime=now+5seconds")
    # slurmctld looks at time limits every half minute.
    eventually(lambda: stuck.show(job).get("JobState") == "TIMEOUT", 60, "the time limit")
    since = time.time()
    for node in NODES:
        ended_on(stuck, job, node, since)
    clean_again(stuck)
    assert stuck.state(job) == "TIMEOUT"


@pytest.mark.parametrize(("partition", "state"), [("main", "PENDING"), ("spare", "PREEMPTED")])
def test_preemption(stuck: Stack, partition: str, state: str) -> None:
    job = waiting(stuck, f"--partition={partition}")
    urgent = stuck.submit(None, *_BOTH, "--partition=urgent", script="true")
    eventually(lambda: state in stuck.show(job).get("JobState", ""), 60, "the preemption")
    since = time.time()
    for node in NODES:
        ended_on(stuck, job, node, since)
    if state == "PENDING":
        requeued(stuck, job)
    stuck.await_end(urgent)
    assert stuck.state(urgent) == "COMPLETED"
    clean_again(stuck)


def test_a_node_that_the_administrator_takes_down(stuck: Stack) -> None:
    job, since = waiting(stuck), time.time()
    stuck.exec("slurmctld", "scontrol", "update", "nodename=compute2", "state=down", "reason=test")
    for node in NODES:
        ended_on(stuck, job, node, since)
    requeued(stuck, job)
    resume(stuck, "compute2")
    clean_again(stuck)


def test_a_node_that_hangs(stuck: Stack) -> None:
    job = waiting(stuck)
    with stuck.paused("compute2"):
        since = time.time()
        stuck.exec("slurmctld", "scontrol", "update", "nodename=compute2", "state=down", "reason=test")
        ended_on(stuck, job, "compute1", since)
    ended_on(stuck, job, "compute2", time.time())
    requeued(stuck, job)
    resume(stuck, "compute2")
    clean_again(stuck)


def test_a_batch_node_that_hangs(stuck: Stack) -> None:
    """Nobody is left who would delete the workload: the other node lets go once Kubernetes has lost this one."""
    with stuck.configured(timing={"node_patience": 5}):
        job = waiting(stuck)
        with stuck.paused("compute1"):
            stuck.exec("slurmctld", "scontrol", "update", "nodename=compute1", "state=down", "reason=test")
            # 40 s until Kubernetes misses the kubelet, 20 s between two looks.
            ended_on(stuck, job, "compute2", time.time(), 90)
        ended_on(stuck, job, "compute1", time.time())
        requeued(stuck, job)
        resume(stuck, "compute1")
        clean_again(stuck)
