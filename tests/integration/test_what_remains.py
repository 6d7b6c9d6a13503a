"""What SECURITY.md says that somebody can do all the same, shown, so that it is true and nobody is surprised."""

import json

from .callers import of_node, pods, workloads
from .rows import await_training, in_training
from .stack import Stack, eventually


def test_what_a_node_can_still_read(stack: Stack) -> None:
    """With compute1's credential, of a run on compute2 alone."""
    thief, job = of_node(stack, "compute1"), in_training(stack, "compute2")
    await_training(stack, job)
    name = f"slurm-demo-{job.id}-0"
    jobs = f"/api/v1/namespaces/{stack.namespace}"
    for path in (pods(stack), f"{pods(stack)}/{name}-worker-0/log", workloads(stack), f"{jobs}/events"):
        status, answer = thief.ask("GET", path)
        assert status == 200, (path, answer)
        assert ("here" if path.endswith("log") else name) in answer, path
    assert thief.ask("GET", "/api/v1/nodes/compute2")[0] == 200
    stack.let_go(job)
    stack.await_end(job)


def test_what_root_on_a_slurm_node_can_do_anyway(stack: Stack) -> None:
    """Munge makes it root to Slurm on every node: of a job on compute2, from compute1, without the bridge."""
    job = in_training(stack, "compute2")
    await_training(stack, job)
    minted = stack.exec("compute1", "scontrol", "token", "username=other", "lifespan=60")
    assert minted.startswith("SLURM_JWT=ey")
    stack.exec("compute1", "scontrol", "update", f"jobid={job.id}", "comment=by root")
    assert stack.comment(job).startswith("by root")
    stack.exec("compute1", "scancel", str(job.id))
    stack.await_ended([job], 90)
    assert stack.state(job) == "CANCELLED"


def test_what_everybody_may_read_of_a_job(stack: Stack) -> None:
    """Slurm shows a job's comment to all accounts (but where PrivateData hides jobs), and there stands the reason."""
    job = stack.submit(None, "-N1", "--comment=k8s=no-such-file")
    eventually(lambda: "no such file" in stack.comment(job), 60, "the reason in its comment")
    shown = stack.exec("login", "scontrol", "show", "job", str(job.id), user="other")
    assert f"cannot read {job.directory}/no-such-file as user ml: no such file" in shown
    status = json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json", user="other"))
    assert status["runs"] == [], "the daemon itself tells nothing of it"
    stack.await_ended([job], 60)
