"""Rows of the API server on the real stack, and an API server that is slow or at fault for a while: what waits for it
goes on as soon as it can, no node is drained, and the training's exit code arrives."""

import json

from .detours import Detour, detours, kubelets_detour
from .policies import in_force, marked, meddling
from .rows import applied, explained, hears, manifest
from .specs import SCRIPT_UNTIL_GO, UNTIL_LET_GO
from .stack import NODES, Job, Stack, eventually


def test_a_pod_that_changes_between_look_and_patch(stack: Stack) -> None:
    """Somebody opens a gate of theirs before the bridge's, which is then at another place than its patch says."""
    gate = 'op: "add", path: "/spec/schedulingGates/0", value: {"name": "somebody.example.com/gate"}'
    free = [{"op": "remove", "path": "/spec/schedulingGates/0"}]
    with (
        applied(stack, *meddling("before", gate)),
        stack.configured("compute1", kubernetes={"timeout": 120}),
        detours(stack, "compute1") as (way,),
    ):
        in_force(stack, "Pod", "somebody.example.com/gate", "before")
        way.obeys(only="PATCH", hold=120)
        job = stack.submit(marked(stack, "before"), "-N1", "--nodelist=compute1")
        way.meets()
        pod = f"slurm-demo-{job.id}-0-worker-0"
        stack.kubectl("-n", stack.namespace, "patch", "pod", pod, "--type=json", "-p", json.dumps(free))
        way.obeys(only="PATCH", hold=119)  # the next patch waits, too, until its reason has been told
        hears(stack, job, "api-conflict")
        way.obeys()
        stack.await_end(job, 90)
    assert stack.state(job) == "COMPLETED"


def test_a_kubelet_that_does_not_get_a_secret(stack: Stack) -> None:
    metadata = {"name": "late", "namespace": stack.namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"k": "v"}}
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "late", "key": "k"}}}]
    with applied(stack, secret), kubelets_detour(stack, "compute2") as way:
        way.obeys(only=f"GET /api/v1/namespaces/{stack.namespace}/secrets", hold=600)
        job = stack.submit(manifest(stack, env=env), "-N1", "--nodelist=compute2")
        hears(stack, job, "container-config-late", "compute2")
        way.obeys()
        stack.await_end(job, 120)
    assert stack.state(job) == "COMPLETED"


def test_an_api_server_that_is_slow_or_at_fault_is_outlived(stack: Stack) -> None:
    """In prolog, training and epilog: on one node an API server takes 10 s for each answer, on the other it has faults
    and too much to do."""
    slow, busy = {"delay": 10}, {"status": 429, "retry_after": 2}
    silent = {"delay": 60}  # longer than the most patient call: 10 s are what a call is given behind one that ran out
    # The script ends only when it may: so each phase meets a fault of its own.
    script = f"bridgectl attach; code=$?; {SCRIPT_UNTIL_GO}; exit $code"
    spec = manifest(stack, "sh", "-c", f"{UNTIL_LET_GO}; echo trained; exit 3")
    with detours(stack, *NODES) as (first, second):
        first.obeys(**slow)
        second.obeys(status=503)
        jobs = [stack.submit(spec, "-N1", f"--nodelist={node}", script=script) for node in NODES]
        hears(stack, jobs[0], "api-unreachable", "compute1")
        hears(stack, jobs[1], "api-fault", "compute2")
        second.obeys(**busy)
        hears(stack, jobs[1], "api-throttled", "compute2")

        _both(first, second, {}, {})
        for job, node in zip(jobs, NODES, strict=True):
            _comes_to(stack, job, node, "phase", "running")
        _both(first, second, slow, {"status": 500})
        for job, way in zip(jobs, (first, second), strict=True):
            way.meets()
            stack.let_go(job)
        _comes_to(stack, jobs[0], "compute1", "sentence", "exited 3")
        second.obeys()
        _comes_to(stack, jobs[1], "compute2", "sentence", "exited 3")
        eventually(lambda: "trained\n" in stack.output(jobs[1]), 60, "what it said, before the next fault")

        _both(first, second, silent, busy)
        for job in jobs:
            stack.exec("login", "touch", f"{job.directory}/go", user=job.user)
        _comes_to(stack, jobs[0], "compute1", "release", "the API server does not answer")
        _comes_to(stack, jobs[1], "compute2", "release", "the API server has too much to do")
        _both(first, second, slow, {})
        stack.await_ended(jobs, 90)
        stack.await_idle(60)
    for job in jobs:
        assert stack.sacct(job, "State,ExitCode") == "FAILED|3:0"
    said = stack.output(jobs[0])
    assert "trained\n" in said or "[lines-lost]" in said, "never in silence"


def _both(first: Detour, second: Detour, one: dict[str, int], other: dict[str, int]) -> None:
    first.obeys(**one)
    second.obeys(**other)


def _comes_to(stack: Stack, job: Job, node: str, field: str, words: str) -> None:
    """What the job's owner is told has this in it."""
    what = f"{words!r} in the {field} of job {job.id}"
    eventually(lambda: words in str(explained(stack, job, node).get(field)), 90, what)
