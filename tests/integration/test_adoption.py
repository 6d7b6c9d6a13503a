"""A daemon that has lost its state directory, or got an old one back, learns the runs of its node again."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .rows import manifest
from .specs import UNTIL_LET_GO, container_job
from .stack import NODES, Job, Stack, eventually

_STATE = "/var/lib/slurm-k8s-bridge"
_HASTY = {"reconcile_period": 0.5}
_LINES = 12
_COUNT = f"i=0; while [ $i -lt {_LINES} ]; do echo line $i; i=$((i+1)); sleep 1; done"


@contextmanager
def without_daemon(stack: Stack, node: str) -> Iterator[None]:
    """The daemon of this node does not run."""
    stack.sh(node, "systemctl stop slurm-k8s-bridge")
    try:
        yield
    finally:
        stack.sh(node, "systemctl start slurm-k8s-bridge")


def saved(stack: Stack, node: str) -> None:
    """A backup of the journal, and nothing of later."""
    with without_daemon(stack, node):
        stack.sh(node, f"rm -rf {_STATE}/old && cp -a {_STATE}/journal {_STATE}/old")


def lost(stack: Stack, node: str, what: str) -> None:
    """The daemon starts on an empty state directory, or on the backup; `everything`: the hooks' markers are gone."""
    back = f"cp -a {_STATE}/old/. {_STATE}/journal/" if what == "restored" else "true"
    markers = f"{_STATE}/runs/*" if what == "everything" else ""
    with without_daemon(stack, node):
        stack.sh(node, f"rm -rf {_STATE}/journal/* {markers} && {back}")


def counting(stack: Stack, *options: str, then: str = "exit 0") -> Job:
    """A job of which each rank counts for some seconds, and trains until it is let go."""
    return stack.submit(container_job(stack.images["small"], f"{_COUNT}; {UNTIL_LET_GO}; {then}"), "-c1", *options)


def adoptions(stack: Stack, node: str, job: Job) -> set[bool]:
    """Of the runs of this job that were adopted on this node: whether their marker was there."""
    return {event["marked"] for event in stack.daemon_log(node, job) if event["event"] == "run_adopted"}


@pytest.mark.parametrize("what", ["wiped", "restored"])
def test_a_lost_journal_changes_nothing_for_a_training(stack: Stack, what: str) -> None:
    with stack.configured(timing=_HASTY):
        for node in NODES:
            saved(stack, node)
        well, failing = counting(stack, "-N2"), counting(stack, "-N2", then="sleep 3; exit 3")
        eventually(lambda: all(stack.output(job).count("line 2\n") == 2 for job in (well, failing)), 60, "training")
        for node in NODES:
            lost(stack, node, what)
        for node in NODES:
            eventually(lambda node=node: adoptions(stack, node, well) == {True}, 60, f"adoption by {node}")  # type: ignore[misc]
        for job in (well, failing):
            stack.let_go(job)
        stack.await_ended([well, failing], 90)
        stack.await_idle(60)  # their epilogs are over, too
        assert [stack.sacct(job, "State,ExitCode") for job in (well, failing)] == ["COMPLETED|0:0", "FAILED|3:0"]
        lines = sorted(f"line {number}" for number in range(_LINES) for _ in NODES)
        assert sorted(stack.output(well).splitlines()) == lines
        said = stack.output(failing).splitlines()
        assert sorted(line for line in said if line.startswith("line")) == lines
        assert "exited 3" in said[-1]
        assert "2/2 ranks exited 0" in stack.comment(well)
        assert "exited 3" in stack.comment(failing)
        for node in NODES:
            stack.epilog_answered(node, well)


def test_a_journal_from_a_waiting_prolog_is_put_back_under_its_training(stack: Stack) -> None:
    """By that journal no pod has started and no hook is there: what runs now is believed instead."""
    training = f"{UNTIL_LET_GO}; echo trained; exit 3"
    with stack.registry_answering("hang"):
        job = stack.submit(manifest(stack, "sh", "-c", training, imagePullPolicy="Always"), "-N2", "-c1")
        bound = "bound pods"
        eventually(lambda: [pod["spec"].get("nodeName") for pod in stack.objects("pods")] == list(NODES), 60, bound)
        for node in NODES:
            saved(stack, node)
    eventually(lambda: _trains(stack, job), 90, "training")
    for node in NODES:
        lost(stack, node, "restored")
    for node in NODES:
        eventually(lambda node=node: _goes_on(stack, node, job), 60, f"its run goes on by {node}")  # type: ignore[misc]
    stack.let_go(job)
    stack.await_ended([job], 60)
    stack.await_idle(60)
    assert stack.sacct(job, "State,ExitCode") == "FAILED|3:0"
    assert stack.output(job).count("trained") == 2


def _trains(stack: Stack, job: Job) -> bool:
    """Both prologs have been answered."""
    told = [event for node in NODES for event in stack.daemon_log(node, job) if event["event"] == "hook_answered"]
    return [event["exit"] for event in told] == [0, 0]


def _goes_on(stack: Stack, node: str, job: Job) -> bool:
    """The last daemon has found the run at work."""
    phases = [event for event in stack.daemon_log(node, job) if event["event"] == "phase"]
    return phases[-1]["phase"] == "running" and phases[-1]["cause"] in ("hook_left", "listed")


def test_without_its_marker_slurmctlds_word_keeps_a_training_and_ends_it(stack: Stack) -> None:
    """The whole state directory is lost: no epilog comes to the daemon, which looks after the end itself."""
    node, where = "compute1", ("-N1", "-w", "compute1")
    late = stack.submit(
        None, *where, script="scontrol update jobid=$SLURM_JOB_ID comment=k8s=job.yaml; exec bridgectl attach"
    )
    stack.await_ended([late], 60)
    assert f"job {late.id} asks for the bridge (k8s=job.yaml), but no prolog of it has come" in stack.output(late)
    well, cancelled = counting(stack, *where), counting(stack, *where)
    eventually(lambda: all("line 2\n" in stack.output(job) for job in (well, cancelled)), 60, "training")
    lost(stack, node, "everything")
    eventually(lambda: adoptions(stack, node, well) == adoptions(stack, node, cancelled) == {False}, 60, "adoption")
    stack.let_go(well)
    stack.await_ended([well], 60)
    assert stack.sacct(well, "State,ExitCode") == "COMPLETED|0:0"
    said = stack.output(well).splitlines()
    assert [line for line in said if line.startswith("line")] == [f"line {number}" for number in range(_LINES)]
    assert f"slurm-demo-{cancelled.id}-0" in stack.names("pytorchjobs"), "the other run goes on"
    stack.exec("login", "scancel", str(cancelled.id), user="ml")
    stack.await_ended([cancelled], 60)
    eventually(lambda: not stack.names("pods"), 60, "no pod left")
