"""Hooks of slurmd that stand still, and lose their daemon meanwhile: it takes them for dead, and they come back."""

from .hands import before_prolog
from .rows import explained, hears, manifest, meets
from .stack import Job, Stack, eventually

_HOOK = "^/usr/bin/python3 .*/bridge/hook/__main__.py prolog$"
_GO = "/var/tmp/the-batch-node-goes-on"
_SAYS = ("sh", "-c", "echo done")


def stands_still_until_it_is_taken_for_dead(stack: Stack, node: str, job: Job) -> None:
    """Its connection breaks with the daemon; a process that is stopped makes no new one."""
    stack.exec(node, "pkill", "-STOP", "-f", _HOOK)
    stack.kill_daemon(node)
    hears(stack, job, "hook-left", node)
    assert explained(stack, job, node)["phase"] == "prolog"


def goes_on(stack: Stack, node: str) -> None:
    """It asks the daemon that there is now."""
    stack.exec(node, "pkill", "-CONT", "-f", _HOOK)


def is_bound(stack: Stack) -> bool:
    """Whether the job's pod has its node."""
    return [pod["spec"].get("nodeName") for pod in stack.objects("pods")] == ["compute1"]


def test_on_the_batch_node_the_job_is_requeued_and_told_why(stack: Stack) -> None:
    """Its training was deleted: it was let go without one, and without a word (seed 48 of the long run on ae8b5df)."""
    with stack.registry_answering("hang"):
        job = stack.submit(manifest(stack, *_SAYS, imagePullPolicy="Always"), "-N1", "-c1", "-w", "compute1")
        eventually(lambda: is_bound(stack), 60, "a pod that waits for its image")
        assert explained(stack, job)["phase"] == "prolog"
        stands_still_until_it_is_taken_for_dead(stack, "compute1", job)
        goes_on(stack, "compute1")
        eventually(lambda: stack.show(job)["Restarts"] == "1", 60, f"job {job.id} requeued")
    assert stack.comment(job).startswith("k8s=job.yaml")
    assert "try 1 of 3 failed, requeued: " in stack.comment(job) and meets("hook-away", stack.comment(job))
    assert "slurm-k8s-bridge: the prolog hook stood still" in stack.output(job)
    assert "drain" not in str(stack.node_states()), "its nodes stay in service"
    stack.await_ended([job], 180)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert "done" in stack.output(job)
    stack.await_idle(60)


def test_on_another_node_the_job_waits_for_it_and_goes_on(stack: Stack) -> None:
    """Whose gate stays closed meanwhile; it stayed closed behind it, too, and the job waited for its deadline."""
    with before_prolog(stack, "compute1", f"until [ -e {_GO} ]; do sleep 0.1; done; rm {_GO}; exec $hook"):
        job = stack.submit(manifest(stack, *_SAYS), "-N2", "-c1")
        eventually(lambda: explained(stack, job, "compute2").get("phase") == "prolog", 60, "a prolog on compute2")
        stands_still_until_it_is_taken_for_dead(stack, "compute2", job)
        stack.exec("compute1", "touch", _GO)
        eventually(lambda: len(gated(stack)) == 1, 60, "the pod of compute2 alone behind its gate")
    goes_on(stack, "compute2")
    stack.await_ended([job], 60)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert stack.output(job).count("done\n") == 2
    stack.await_idle(60)


def gated(stack: Stack) -> list[str]:
    """The pods that nobody has let through."""
    return [pod["metadata"]["name"] for pod in stack.objects("pods") if pod["spec"].get("schedulingGates")]
