"""Rows of the hooks on the real stack, and of runs that end otherwise than they should."""

from .hands import before_prolog, epilog, prolog, started
from .nodes import without_daemon
from .rows import done, explained, hears, manifest, meets
from .specs import UNTIL_LET_GO, container_job, stubborn
from .stack import Job, Stack, eventually

_ON = ("-N1", "-c1", "-w")
_SLEEPS = "sleep 600"
_LIBRARY = "/usr/lib/slurm-k8s-bridge"
_IMPATIENT = f"""exec /usr/bin/python3 -I -S -c '
import os, sys
sys.path.insert(0, "{_LIBRARY}")
from bridge.hook import client, paths
os._exit(client.run("prolog", os.environb, paths.SYSTEM, paths.Patience(prolog=4.0)))'"""


def test_a_prolog_without_its_environment_and_a_prolog_without_a_daemon(stack: Stack) -> None:
    spec = manifest(stack)
    with before_prolog(stack, "compute1", "unset SLURM_JOB_CPUS_PER_NODE; exec $hook"):
        lacking = stack.submit(spec, *_ON, "compute1")
        with before_prolog(stack, "compute2", _IMPATIENT), without_daemon(stack, "compute2"):
            unheard = stack.submit(spec, *_ON, "compute2")
            eventually(lambda: "drain" in stack.node_states()["compute2"], 60, "the node without a daemon drained")
            assert f"prolog of job {unheard.id} on compute2: bridged did not answer for 4 s" in slurmd_log(stack)
        eventually(lambda: stack.state(lacking) == "FAILED", 60, "the end of the job without an environment")
    said = f"job {lacking.id} was let go without pods: SLURM_JOB_CPUS_PER_NODE is not set"
    assert said in stack.output(lacking)
    eventually(lambda: stack.node_states() == {"compute1": "idle", "compute2": "drained"}, 60, "both epilogs over")
    assert stack.show(unheard)["Restarts"] == "1", "it goes back into the queue"
    stack.exec("login", "scancel", str(unheard.id), user="ml")
    stack.exec("slurmctld", "scontrol", "update", "nodename=compute2", "state=resume")
    stack.await_idle()


def slurmd_log(stack: Stack) -> str:
    """What slurmd of compute2 has said."""
    return stack.sh("compute2", "cat /var/log/slurm/slurmd.log")


def test_gpus_of_which_a_prolog_is_told_nothing(stack: Stack) -> None:
    """As slurmctld 24.11 does for some seconds after it began: no pod starts there, and the next try has its GPUs."""
    untold, gpus = "unset SLURM_JOB_GPUS; exec $hook", ("-c1", "--gpus-per-node=2")
    with before_prolog(stack, "compute2", untold):
        both = stack.submit(container_job(stack.images["small"], "hold-gpu 0"), "-N2", *gpus)
        is_told_of_unnamed_gpus(stack, both, "compute2")
    with before_prolog(stack, "compute1", untold):
        one = stack.submit(container_job(stack.images["small"], "hold-gpu 0"), "-N1", "-w", "compute1", *gpus)
        is_told_of_unnamed_gpus(stack, one, "compute1")
    stack.await_ended([both, one], 180)
    assert [stack.sacct(job, "State,ExitCode") for job in (both, one)] == ["COMPLETED|0:0"] * 2


def is_told_of_unnamed_gpus(stack: Stack, job: Job, node: str) -> None:
    """The job is back in the queue, and its comment says why."""
    eventually(lambda: stack.show(job).get("Restarts", "0") != "0", 60, f"job {job.id} requeued")
    said = stack.comment(job)
    assert f"try 1 of 3 failed, requeued: Slurm gave GPUs of {node} and named none of them to its prolog" in said
    assert not any(pod["spec"].get("nodeName") == node for pod in stack.objects("pods"))


def test_two_words_for_a_spec(stack: Stack) -> None:
    job = stack.submit(manifest(stack), *_ON, "compute1", "--comment=k8s=a.yaml k8s=b.yaml")
    stack.await_ended([job], 60)
    assert stack.state(job) == "CANCELLED"
    assert explained(stack, job).get("row") == "spec-word"


def cancel(stack: Stack, *jobs: Job) -> None:
    """As their owner does it."""
    stack.exec("login", "scancel", *(str(job.id) for job in jobs), user="ml")


def test_hooks_that_are_killed(stack: Stack) -> None:
    """By hand: slurmd itself would take the node for broken."""
    with stack.registry_answering("hang"):
        left = stack.submit(None, *_ON, "compute1", script=_SLEEPS)
        stack.write(f"{left.directory}/job.yaml", manifest(stack, imagePullPolicy="Always"))
        ending = "until [ -e /tmp/let-go ]; do sleep 0.2; done"
        unscanned = stack.submit(stubborn(stack.images["small"], ending, 300), *_ON, "compute2", script=_SLEEPS)
        for job in (left, unscanned):
            stack.await_state(job, "RUNNING")
        hook = started(stack, "compute1", prolog(stack, "compute1", left))
        eventually(lambda: explained(stack, left).get("phase") == "prolog", 30, "a run")
        stack.exec("compute1", "kill", "-9", hook)
        eventually(lambda: explained(stack, unscanned, "compute2").get("phase") == "running", 60, "a training")
        hook = started(stack, "compute2", epilog(unscanned))
        eventually(
            lambda: explained(stack, unscanned, "compute2").get("row") == "pods-remain", 30, "an epilog that waits"
        )
        stack.exec("compute2", "kill", "-9", hook)
        stack.let_go(unscanned)
        eventually(
            lambda: explained(stack, unscanned, "compute2").get("row") == "not-scanned", 60, "an end without a scan"
        )
        assert "no hook has scanned the node yet" in explained(stack, unscanned, "compute2")["release"]
        hears(stack, left, "hook-left")
        assert explained(stack, left)["verdict"] == "gone"
    cancel(stack, left, unscanned)
    stack.await_ended([left, unscanned], 60)
    stack.await_idle(60)


def test_a_job_that_slurm_ends_and_a_daemon_that_has_lost_its_token(stack: Stack) -> None:
    spec = container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}")
    ended = stack.submit(spec, *_ON, "compute1", script=_SLEEPS)
    untold = stack.submit(spec, *_ON, "compute2", script=_SLEEPS)
    eventually(lambda: explained(stack, ended).get("phase") == "running", 60, "a training")
    seen = f"{ended.directory}/seen"
    attach = f"(SLURM_JOB_ID={ended.id} bridgectl attach >{seen} 2>&1; echo exit $? >>{seen}) >/dev/null 2>&1 &"
    stack.exec("compute1", "sh", "-c", attach, user="ml")
    eventually(lambda: "here" in read(stack, seen), 30, "an attach beside the script")
    cancel(stack, ended)
    eventually(lambda: "exit 75" in read(stack, seen), 60, "the end of attach")
    assert meets("ended-by-slurm", read(stack, seen))
    eventually(lambda: explained(stack, untold, "compute2").get("phase") == "running", 60, "a training")
    stack.kill_daemon("compute2")
    stack.let_go(untold)
    eventually(lambda: meets("slurm-no-token", done(stack, untold, "compute2")), 60, "a comment that cannot be set")
    cancel(stack, untold)
    stack.await_ended([ended, untold], 60)
    assert [stack.state(job) for job in (ended, untold)] == ["CANCELLED"] * 2


def read(stack: Stack, path: str) -> str:
    """A file in a shared home."""
    return stack.exec("login", "cat", path, check=False)


def test_a_prolog_whose_time_is_over_before_anything_has_failed(stack: Stack) -> None:
    with stack.configured("compute1", timing={"prolog_deadline": 8.0}, kubernetes={"timeout": 60.0}):
        with stack.paused("kube-apiserver"):
            job = stack.submit(manifest(stack), *_ON, "compute1")
            eventually(lambda: stack.show(job).get("Reason") == "BeginTime", 60, "a job that waits for its next try")
            assert meets("deadline", stack.comment(job)) and "try 1 of 3 failed, requeued" in stack.comment(job)
            assert explained(stack, job).get("row") == "deadline"
            stack.await_idle(30)
        cancel(stack, job)
