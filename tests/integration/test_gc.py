"""A workload that has outlived its run goes, by itself or at once by `bridgectl gc`; what may live stays."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from .hands import EPILOG, before_hook
from .nodes import without_daemon
from .specs import UNTIL_LET_GO, container_job
from .stack import Job, Stack, eventually

HASTY = {"reconcile_period": 0.5, "orphan_grace": 2.0}
_ON_COMPUTE1 = ("-N1", "-w", "compute1", "--gpus-per-node=2")
_JOURNAL, _RUNS = "/var/lib/slurm-k8s-bridge/journal", "/var/lib/slurm-k8s-bridge/runs"


def running(stack: Stack, *options: str) -> Job:
    """A job that trains on compute1, by default with its GPUs; its script does not attach, which would end it with the
    daemon's memory."""
    spec = container_job(stack.images["small"], "trap 'exit 143' TERM; sleep 300 & wait")
    job = stack.submit(spec, *(options or _ON_COMPUTE1), script="echo here; sleep 300")
    eventually(lambda: "here" in stack.output(job), 60, "training")
    return job


def workload_of(stack: Stack, job: Job) -> dict[str, Any]:
    """The job's workload."""
    (found,) = stack.objects("pytorchjobs", f"slurm-k8s-bridge/job={job.id}")
    return found


def cancelled(stack: Stack, job: Job) -> None:
    """The job is over and its nodes are free."""
    stack.exec("login", "scancel", str(job.id), user="ml")
    stack.await_end(job)


def made_again(stack: Stack, workload: dict[str, Any]) -> str:
    """Somebody makes the workload of a run that is over; its name."""
    old = workload["metadata"]
    metadata = {key: old[key] for key in ("name", "namespace", "labels", "annotations")}
    made = {"apiVersion": workload["apiVersion"], "kind": workload["kind"], "metadata": metadata}
    stack.kubectl("create", "-f", "-", stdin=json.dumps(made | {"spec": workload["spec"]}))
    return str(old["name"])


def gc(stack: Stack, *options: str, user: str = "root") -> tuple[int, str]:
    """Exit code and output of `bridgectl gc` on compute1."""
    words = ["docker", "exec", "--user", user, stack.container("compute1"), "bridgectl", "gc", *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def states(stack: Stack) -> dict[str, str]:
    """What each workload is, seen from compute1."""
    _, answer = gc(stack, "--dry-run", "-o", "json")
    return {row["workload"]: row["state"] for row in json.loads(answer)["workloads"]}


def reconciler(stack: Stack) -> dict[str, Any]:
    """What `bridgectl status` tells root about the last look on compute1."""
    found: dict[str, Any] = json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))["reconciler"]
    return found


def stays(stack: Stack, workload: dict[str, Any], seconds: float, seen: bool = True) -> None:
    """Look after look, nothing happens to it; ``seen``: it can be looked at."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        looks = reconciler(stack)
        assert looks["details"]["deleted"] == []
        assert looks["details"]["faults"] == [] or not seen
        found = stack.objects("pytorchjobs", f"slurm-k8s-bridge/run={workload['metadata']['name']}")
        assert [item["metadata"]["uid"] for item in found] == [workload["metadata"]["uid"]]
        assert "deletionTimestamp" not in found[0]["metadata"]


@contextmanager
def without_markers(stack: Stack) -> Iterator[None]:
    """Nothing on compute1 says which runs began there."""
    stack.sh("compute1", f"mv {_RUNS} {_RUNS}.away && mkdir {_RUNS}")
    try:
        yield
    finally:
        stack.sh("compute1", f"rmdir {_RUNS} && mv {_RUNS}.away {_RUNS}")


def wipe(stack: Stack) -> None:
    """compute1's journal is lost."""
    with without_daemon(stack, "compute1"):
        stack.sh("compute1", f"rm -rf {_JOURNAL}/*")
    eventually(lambda: reconciler(stack)["seconds_ago"] is not None, 20, "a first look")


@contextmanager
def calendar(stack: Stack, node: str) -> Iterator[Callable[[str], None]]:
    """The daemon of this node has a calendar of its own, which a call sets: libfaketime reads it from a file, again and
    again. Nobody in a container may set the machine's."""
    unit, file = "/run/systemd/system/slurm-k8s-bridge.service.d/calendar.conf", "/run/calendar"
    library = stack.sh(node, "ls /usr/lib/*/faketime/libfaketime.so.1").strip()
    settings = f"LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE={file} FAKETIME_CACHE_DURATION=1 DONT_FAKE_MONOTONIC=1"
    anew = "systemctl daemon-reload && systemctl restart slurm-k8s-bridge"

    def set_to(days: str) -> None:
        """Ahead of the true one or behind it, as `+10d`."""
        stack.sh(node, f"echo {days} >{file}.new && mv {file}.new {file}")

    set_to("+0d")
    stack.exec(
        node,
        "sh",
        "-c",
        f"mkdir -p $(dirname {unit}) && cat >{unit} && {anew}",
        stdin=f"[Service]\nEnvironment={settings}\n",
    )
    try:
        yield set_to
    finally:
        stack.sh(node, f"rm {unit} && {anew}")


@pytest.fixture(scope="module")
def released(running_stack: Stack) -> dict[str, Any]:
    """The workload of a run that compute1's journal knows as released."""
    running_stack.make_clean()
    job = running(running_stack)
    workload = workload_of(running_stack, job)
    cancelled(running_stack, job)
    return workload


def test_gc_shows_an_orphan_to_root_and_deletes_it_at_once(stack: Stack, released: dict[str, Any]) -> None:
    name = made_again(stack, released)
    assert gc(stack, "--dry-run", user="ml")[0] == 64
    code, told = gc(stack, "--dry-run")
    assert code == 0, told
    assert f"{name}: orphan, deleted in " in told
    assert name in stack.names("pytorchjobs")
    code, told = gc(stack)
    assert code == 0, told
    assert f"{name}: deleted: this node's journal says that its run was released" in told
    eventually(lambda: not stack.names("pytorchjobs"), 20, "no workload")


def test_an_orphan_goes_by_itself_and_what_lives_stays(stack: Stack, released: dict[str, Any]) -> None:
    with stack.configured(timing=HASTY):
        job = running(stack)
        live = workload_of(stack, job)
        name = made_again(stack, released)
        eventually(lambda: stack.names("pytorchjobs") == [live["metadata"]["name"]], 40, "the orphan is gone")
        (deleted,) = reconciler(stack)["details"]["deleted"]
        assert (deleted["workload"], deleted["why"]) == (
            name,
            "this node's journal says that its run was released",
        )
        assert states(stack) == {live["metadata"]["name"]: "live"}
        assert workload_of(stack, job)["metadata"]["uid"] == live["metadata"]["uid"]
        assert stack.show(job)["JobState"] == "RUNNING"
        cancelled(stack, job)


def test_a_wiped_state_directory_deletes_nothing(stack: Stack) -> None:
    with stack.configured(timing=HASTY):
        job = running(stack)
        live = workload_of(stack, job)
        with without_markers(stack):
            wipe(stack)
            stays(stack, live, 2 * HASTY["orphan_grace"])
            code, told = gc(stack)
            assert code == 1, told
            assert f"{live['metadata']['name']}: unconfirmed: this node's journal does not know its run" in told
            assert f"kubectl -n {stack.namespace} delete pytorchjob {live['metadata']['name']}" in told
            stays(stack, live, 0.1)
        eventually(lambda: states(stack) == {live["metadata"]["name"]: "live"}, 20, "adopted by its marker")
        assert stack.show(job)["JobState"] == "RUNNING"
        cancelled(stack, job)


def test_with_a_service_token_slurmctld_says_what_lives_and_what_is_over(stack: Stack) -> None:
    with stack.service_token("service") as tier, stack.configured(timing=HASTY, slurmrest=tier):
        job = running(stack)
        workload = workload_of(stack, job)
        name = workload["metadata"]["name"]
        wipe(stack)
        assert states(stack) == {name: "live"}
        stays(stack, workload, 2 * HASTY["orphan_grace"])
        cancelled(stack, job)
        wipe(stack)
        made_again(stack, workload)
        eventually(lambda: not stack.names("pytorchjobs"), 40, "the orphan is gone")
        (deleted,) = reconciler(stack)["details"]["deleted"]
        assert (deleted["workload"], deleted["why"]) == (name, "slurmctld says that its job is over (cancelled)")


def test_a_run_whose_epilog_was_killed_ends_when_its_time_is_long_over(stack: Stack) -> None:
    """slurmd runs no epilog twice, and a job without GPUs tells no later prolog that it is over."""
    on_it = ("-N1", "-w", "compute1", "-c1", "--time=1")
    with stack.configured("compute1", timing={"reconcile_period": 0.5, "prolog_deadline": 8.0}):
        job = running(stack, *on_it)
        with before_hook(stack, "compute1", EPILOG, "kill -9 $$"):
            stack.exec("login", "scancel", str(job.id), user="ml")
            eventually(lambda: stack.node_states()["compute1"] == "drained", 60, "the drain")
        stack.exec("slurmctld", "scontrol", "update", "nodename=compute1", "state=resume")
        assert stack.names("pytorchjobs") == [f"slurm-demo-{job.id}-0"]
        eventually(lambda: not stack.names("pytorchjobs"), 90, "no workload")
        following = stack.run(container_job(stack.images["small"], "echo trained"), *on_it)
        assert (stack.state(following), stack.output(following)) == ("COMPLETED", "trained\n")
    assert stack.exec("compute1", "ls", _RUNS) == ""
    (told,) = [line for line in stack.daemon_log("compute1", job) if line["event"] == "run_over_without_epilog"]
    assert told["proof"] == "slurmctld says that its job is over (cancelled)"


def test_a_calendar_that_jumps_deletes_nothing(stack: Stack) -> None:
    """Under one of ten days ahead jobs come and go as ever. By one of ten days ago no certificate is valid yet."""
    with calendar(stack, "compute1") as set_to, stack.configured("compute1", timing=HASTY):
        training = container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}; exit 3")
        job = stack.submit(training, "-N1", "-w", "compute1", "-c1")
        eventually(lambda: "here" in stack.output(job), 60, "training")
        live = workload_of(stack, job)
        set_to("+10d")
        stays(stack, live, 2 * HASTY["orphan_grace"])
        other = stack.submit(container_job(stack.images["small"], "echo trained"), "-N1", "-w", "compute1", "-c1")
        stack.await_ended([other], 60)
        assert (stack.state(other), stack.output(other)) == ("COMPLETED", "trained\n")
        assert ahead(stack, other)
        set_to("-10d")
        stays(stack, live, 2 * HASTY["orphan_grace"], seen=False)
        set_to("+0d")
        stack.let_go(job)
        stack.await_end(job, 90)
        assert stack.sacct(job, "State,ExitCode") == "FAILED|3:0"


def ahead(stack: Stack, job: Job) -> bool:
    """Whether the daemon dated what became of this job by a calendar of days ahead."""
    last = stack.daemon_log("compute1", job)[-1]
    return datetime.fromisoformat(last["timestamp"]).timestamp() > time.time() + 9 * 86_400
