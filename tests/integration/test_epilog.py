"""The epilog when all went wrong before it: the workload is gone before it returns 0."""

from .specs import container_job
from .stack import Job, Stack, eventually

_ON_COMPUTE1 = ("-N1", "-w", "compute1", "--gpus-per-node=2")
_HOOK = "/etc/slurm/epilog.d/50-slurm-k8s-bridge"


def running(stack: Stack) -> Job:
    """A job that trains on compute1."""
    spec = container_job(stack.images["small"], "trap 'exit 143' TERM; echo here; sleep 300 & wait")
    job = stack.submit(spec, *_ON_COMPUTE1)
    eventually(lambda: "here" in stack.output(job), 30, "training")
    return job


def gone(stack: Stack) -> None:
    """Nothing of any run is left in Kubernetes, now."""
    assert stack.names("pods") == []
    eventually(lambda: not stack.names("pytorchjobs"), 5, "no workload")


def test_with_nothing_but_a_job_id(stack: Stack) -> None:
    job = running(stack)
    stack.exec("compute1", "env", "-i", f"SLURM_JOB_ID={job.id}", _HOOK)
    gone(stack)
    stack.await_end(job)
    assert "slurm-k8s-bridge: ended: Slurm ended the job while its training ran" in stack.output(job)


def test_with_nothing_but_a_job_id_and_a_lost_journal(stack: Stack) -> None:
    job = running(stack)
    stack.sh("compute1", "systemctl stop slurm-k8s-bridge; rm -rf /var/lib/slurm-k8s-bridge/journal/*")
    stack.exec("compute1", "env", "-i", f"SLURM_JOB_ID={job.id}", _HOOK)
    gone(stack)
    stack.exec("login", "scancel", str(job.id), user="ml")
    stack.await_end(job)


def test_whose_prolog_died_half_way(stack: Stack) -> None:
    """slurmd sees a prolog killed by a signal: it drains the node, as it must, and runs the epilog."""
    spec = container_job("registry:5000/skb/nothing:1", "true")
    job = stack.submit(spec, *_ON_COMPUTE1)
    eventually(lambda: stack.names("pods"), 20, "a pod")
    stack.exec("compute1", "pkill", "-9", "-f", "bridge/hook/__main__.py prolog")
    eventually(lambda: stack.node_states()["compute1"] == "drained", 30, "the drain that slurmd sets")
    gone(stack)
    stack.exec("login", "scancel", str(job.id), user="ml")
    assert stack.epilog_answered("compute1", job)
    stack.exec("slurmctld", "scontrol", "update", "nodename=compute1", "state=resume")
    stack.await_idle()
