"""Release is proven. A watcher on the node, which knows nothing of the bridge, sees that no epilog ends with 0 while
anything of the run is alive, and that the node comes back by itself when the last of it has ended."""

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from .nodes import stopped
from .specs import container_job, stubborn
from .stack import Job, Stack, eventually
from .vigil import Vigil, watching

_NODE = "compute1"
_ON_IT = ("-N1", "-w", _NODE, "--gpus-per-node=2")
_HOOK = "/etc/slurm/epilog.d/50-slurm-k8s-bridge"
# Seconds: attach waits up to 25 for a pod's last words, and Slurm looks only now and then for the end of its script.
_EPILOG_COMES = 75
_GENTLE = "hold-gpu 300"


def holding(stack: Stack, spec: str) -> Job:
    """A job whose training holds the node's GPUs."""
    job = stack.submit(spec, *_ON_IT)
    eventually(lambda: "held by" in stack.output(job), 60, "training")
    return job


def pod_of(stack: Stack, job: Job) -> str:
    """The uid of the job's only pod."""
    (pod,) = [pod for pod in stack.objects("pods") if pod["metadata"]["labels"]["slurm-k8s-bridge/job"] == str(job.id)]
    return str(pod["metadata"]["uid"])


@contextmanager
def vigil_over(stack: Stack, job: Job, *needles: str) -> Iterator[Vigil]:
    """A watcher who has seen the job's processes, and in the end the node in service by itself."""
    with watching(stack, _NODE, job, pod_of(stack, job), *needles) as vigil:
        vigil.await_life()
        yield vigil
        vigil.await_release(90)
    stack.await_idle(60)


def cancel(stack: Stack, job: Job) -> None:
    """As the owner does it."""
    stack.exec("login", "scancel", str(job.id), user="ml")


def obstacle(stack: Stack, job: Job) -> str:
    """What the node says of a release that waits."""
    shown = json.loads(stack.exec(_NODE, "bridgectl", "show", "-o", "json", str(job.id)))
    return str(shown["obstacle"])


def bare_epilog(stack: Stack, job: Job) -> None:
    """An epilog with nothing but the job's number; it must end with 0."""
    stack.exec(_NODE, "env", "-i", f"SLURM_JOB_ID={job.id}", _HOOK)


def test_a_prestop_that_hangs_and_a_process_that_ignores_sigterm(stack: Stack) -> None:
    hook = {"preStop": {"exec": {"command": ["sleep", "300"]}}}
    job = holding(stack, stubborn(stack.images["small"], "hold-gpu 300", 4, lifecycle=hook))
    with vigil_over(stack, job) as vigil:
        cancel(stack, job)
        vigil.stays_held(3)
        assert stack.node_states()[_NODE] == "completing"
    assert stack.epilog_answered(_NODE, job)


def test_a_frozen_process(stack: Stack) -> None:
    """On cgroup v1 no signal reaches it before it is thawed; on v2 SIGKILL does."""
    job = holding(stack, stubborn(stack.images["small"], "hold-gpu 300", 2))
    with vigil_over(stack, job) as vigil:
        v1, thaw = freeze(stack, vigil.await_life())
        cancel(stack, job)
        if v1:
            vigil.stays_held(6)
        stack.sh(_NODE, thaw, check=v1)


def freeze(stack: Stack, pids: list[int]) -> tuple[bool, str]:
    """Freeze the training in a cgroup of its own below the container's, which runc would thaw; whether by cgroup v1,
    and the command that thaws it."""
    look = "for pid in %s; do echo $pid $(cat /proc/$pid/comm) $(grep -E ':freezer:|^0::' /proc/$pid/cgroup); done"
    lines = [line.split() for line in stack.sh(_NODE, look % " ".join(map(str, pids))).splitlines()]
    pid, cgroups = next((line[0], line[2:]) for line in lines if line[1] == "sleep")
    v1 = [path for path in cgroups if ":freezer:" in path]
    path = (v1 or cgroups)[0].split(":", 2)[2]
    below = f"/sys/fs/cgroup{'/freezer' if v1 else ''}{path}/frozen"
    switch, on, off = ("freezer.state", "FROZEN", "THAWED") if v1 else ("cgroup.freeze", "1", "0")
    stack.sh(_NODE, f"mkdir {below} && echo {pid} >{below}/cgroup.procs && echo {on} >{below}/{switch}")
    return bool(v1), f"echo {off} >{below}/{switch}"


def test_a_pod_whose_kubelet_is_dead(stack: Stack) -> None:
    job = holding(stack, container_job(stack.images["small"], _GENTLE))
    with vigil_over(stack, job) as vigil, stopped(stack, _NODE, "kubelet"):
        cancel(stack, job)
        pod = f"slurm-demo-{job.id}-0-worker-0"
        eventually(
            lambda: f"Kubernetes still shows {pod}" in obstacle(stack, job), _EPILOG_COMES, "the reason why it waits"
        )
        vigil.stays_held(1)
        assert stack.node_states()[_NODE] == "completing"


def test_a_pod_deleted_by_force_whose_process_lives_on(stack: Stack) -> None:
    job = holding(stack, container_job(stack.images["small"], _GENTLE))
    uid = pod_of(stack, job)
    with vigil_over(stack, job) as vigil, stopped(stack, _NODE, "kubelet"):
        cancel(stack, job)
        name = f"slurm-demo-{job.id}-0-worker-0"
        stack.kubectl("-n", stack.namespace, "delete", "pod", name, "--force", "--grace-period=0")
        eventually(lambda: not stack.names("pods"), 10, "no pod in the API")
        eventually(lambda: f"is in pod {uid}" in obstacle(stack, job), _EPILOG_COMES, "the reason why it waits")
        vigil.stays_held(3)


def test_a_process_of_the_user_outside_the_pod_that_holds_a_gpu(stack: Stack) -> None:
    job = holding(stack, container_job(stack.images["small"], _GENTLE))
    with holder_of_a_gpu(stack) as (pid, needle), vigil_over(stack, job, needle) as vigil:
        cancel(stack, job)
        eventually(
            lambda: f"process {pid} (sleep): holds /dev/fakegpu" in obstacle(stack, job), _EPILOG_COMES, "the reason"
        )
        vigil.stays_held(2)
        stack.exec(_NODE, "kill", pid)


@contextmanager
def holder_of_a_gpu(stack: Stack) -> Iterator[tuple[str, str]]:
    """A process of the job's user, started by hand: its number, and a needle to find it by."""
    needle = "47110815"
    run = f"setsid setpriv --reuid=ml --regid=ml --clear-groups sleep {needle} </dev/fakegpu0 >/dev/null 2>&1 & echo $!"
    pid = stack.sh(_NODE, run).strip()
    try:
        yield pid, needle
    finally:
        stack.exec(_NODE, "kill", "-9", pid, check=False)


def test_what_lives_beyond_the_epilogs_deadline_drains_the_node_and_says_why(stack: Stack) -> None:
    with stack.configured(timing={"epilog_deadline": 5.0}), holder_of_a_gpu(stack) as (pid, needle):
        job = holding(stack, container_job(stack.images["small"], _GENTLE))
        with watching(stack, _NODE, job, needle) as vigil:
            vigil.await_life()
            cancel(stack, job)
            eventually(lambda: stack.node_states()[_NODE] == "drained", 60, "the drain")
            vigil.stays_held(0.5)
            assert f"still alive: process {pid} (sleep): holds /dev/fakegpu" in obstacle(stack, job)
            assert f"process {pid} (sleep)" in stack.sh(_NODE, "cat /var/log/slurm/slurmd.log"), "the hook's own words"
            stack.exec(_NODE, "kill", pid)
            vigil.await_release(30)
        assert stack.node_states()[_NODE] == "drained", "slurmd set it, so the administrator lifts it"
        stack.exec("slurmctld", "scontrol", "update", f"nodename={_NODE}", "state=resume")
        following = stack.run(container_job(stack.images["small"], "hold-gpu 0"), *_ON_IT)
        assert stack.state(following) == "COMPLETED"


def test_nothing_but_a_job_id_after_a_reboot(stack: Stack) -> None:
    """Journal and marker are of another boot; that nothing can have survived it is not taken for granted."""
    job = holding(stack, stubborn(stack.images["small"], "hold-gpu 300", 4))
    with vigil_over(stack, job) as vigil:
        stack.exec(_NODE, "systemctl", "stop", "slurm-k8s-bridge.service")
        stack.exec(_NODE, "python3", "-c", _OTHER_BOOT)
        with ThreadPoolExecutor() as pool:
            epilog = pool.submit(bare_epilog, stack, job)
            vigil.stays_held(2)
            epilog.result()


_OTHER_BOOT = """
import sqlite3
journal = sqlite3.connect("/var/lib/slurm-k8s-bridge/journal/journal.sqlite")
assert journal.execute("update meta set value = 'another boot' where name = 'boot'").rowcount == 1
journal.commit()
"""


def test_a_run_whose_hooks_never_asked_the_daemon(stack: Stack) -> None:
    """Both were killed while it served: a marker is all that is left, and a process that holds the GPUs."""
    lost = 4711
    with holder_of_a_gpu(stack) as (pid, _):
        stack.exec(_NODE, "python3", "-c", _MARKER % lost)
        job = stack.submit(container_job(stack.images["small"], "hold-gpu 0"), *_ON_IT)
        show = ("bridgectl", "show", str(lost))
        eventually(lambda: f"process {pid} (sleep)" in stack.exec(_NODE, *show, check=False), 60, "the reason")
        assert stack.state(job) in ("CONFIGURING", "RUNNING") and "held by" not in stack.output(job)
        stack.exec(_NODE, "kill", pid)
        stack.await_end(job)
    assert (stack.state(job), stack.exec(_NODE, "ls", "/var/lib/slurm-k8s-bridge/runs")) == ("COMPLETED", "")


_MARKER = """
import sys
sys.path.append("/usr/lib/slurm-k8s-bridge")
from bridge.hook import markers
markers.write("/var/lib/slurm-k8s-bridge/runs", %d, {"restart": 0, "start": 1700000000, "uid": 2001, "gpus": True})
"""


def test_two_epilogs_at_once(stack: Stack) -> None:
    job = holding(stack, stubborn(stack.images["small"], "hold-gpu 300", 4))
    with vigil_over(stack, job) as vigil:
        cancel(stack, job)
        eventually(lambda: stack.node_states()[_NODE] == "completing", 20, "Slurm's own epilog")
        with ThreadPoolExecutor() as pool:
            others = [pool.submit(bare_epilog, stack, job) for _ in range(2)]
            vigil.stays_held(1)
            for other in others:
                other.result()


def test_an_epilog_before_its_prolog_has_ended(stack: Stack) -> None:
    """The kubelet does not end a pod whose image it is pulling, so the epilog waits for the registry here."""
    spec = stubborn(stack.images["small"], "hold-gpu 300", 2, imagePullPolicy="Always")
    with ExitStack() as hanging:
        hanging.enter_context(stack.registry_answering("hang"))
        job = stack.submit(spec, *_ON_IT)
        eventually(lambda: any(pod["spec"].get("nodeName") for pod in stack.objects("pods")), 30, "a pod on the node")
        with vigil_over(stack, job) as vigil, ThreadPoolExecutor() as pool:
            epilog = pool.submit(bare_epilog, stack, job)
            vigil.stays_held(3)
            hanging.close()
            epilog.result()
            assert stack.names("pods") == []
    stack.await_ended([job], 60)
    assert stack.sacct(job, "State,ExitCode") == "FAILED|75:0", "no script may believe that it has pods"


_REFUSAL = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "nobody-deletes"},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["kubeflow.org"],
                            "apiVersions": ["v1"],
                            "operations": ["DELETE"],
                            "resources": ["pytorchjobs"],
                        }
                    ]
                },
                "validations": [{"expression": "false", "message": "not today"}],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "nobody-deletes"},
            "spec": {"policyName": "nobody-deletes", "validationActions": ["Deny"]},
        },
    ],
}


@contextmanager
def deletion_refused(stack: Stack, job: Job) -> Iterator[None]:
    """The API server lets nobody delete a workload."""
    stack.kubectl("apply", "-f", "-", stdin=json.dumps(_REFUSAL))
    try:
        eventually(lambda: not can_delete(stack, job), 30, "a policy that is in force")
        yield
    finally:
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            stack.kubectl("delete", kind, "nobody-deletes")
        eventually(lambda: not stack.names("pytorchjobs") or can_delete(stack, job), 30, "no policy any more")


def can_delete(stack: Stack, job: Job) -> bool:
    """Whether the workload could be deleted now, or is gone."""
    name = f"slurm-demo-{job.id}-0"
    try:
        stack.kubectl("-n", stack.namespace, "delete", "pytorchjob", name, "--dry-run=server", "--ignore-not-found")
    except AssertionError:
        return False
    return True


def test_a_pod_that_its_controller_makes_again_after_the_epilog_began(stack: Stack) -> None:
    job = holding(stack, stubborn(stack.images["small"], _GENTLE, 10))
    first, name = pod_of(stack, job), f"slurm-demo-{job.id}-0-worker-0"
    with vigil_over(stack, job) as vigil, stack.watching_pods() as watch:
        with deletion_refused(stack, job):
            cancel(stack, job)
            eventually(lambda: stack.node_states()[_NODE] == "completing", 20, "the epilog")
            # While it is away, since the operator makes no pod again whose predecessor it has seen ending.
            with stack.stopped("training-operator"):
                stack.kubectl("-n", stack.namespace, "delete", "pod", name, "--force", "--grace-period=0")
            eventually(lambda: stack.names("pods") and pod_of(stack, job) != first, 30, "a second pod")
            vigil.await_end(60)
            eventually(lambda: "not today" in obstacle(stack, job), _EPILOG_COMES, "the reason why it waits")
            assert vigil.released is None, "what is still made for this run has not been deleted"
            (pod,) = stack.objects("pods")
            assert [gate["name"] for gate in pod["spec"]["schedulingGates"]] == ["slurm-k8s-bridge/node"]
        eventually(lambda: not stack.names("pods"), 30, "no pod")
    assert stack.names("pytorchjobs") == []
    assert watch.nodes[name] == "", "the second pod never came to a node"


def test_a_workload_whose_deletion_hangs_does_not_keep_the_node(stack: Stack) -> None:
    """Its pods are gone and it makes none any more; that somebody's finalizer keeps the object is not the node's."""
    job = holding(stack, container_job(stack.images["small"], _GENTLE))
    workload = ("-n", stack.namespace, "patch", "pytorchjob", f"slurm-demo-{job.id}-0", "--type=merge", "-p")
    stack.kubectl(*workload, '{"metadata": {"finalizers": ["example.com/hold"]}}')
    try:
        with vigil_over(stack, job):
            cancel(stack, job)
        assert stack.objects("pytorchjobs")[0]["metadata"]["deletionTimestamp"]
        assert stack.names("pods") == []
    finally:
        stack.kubectl(*workload, '{"metadata": {"finalizers": null}}')


def test_an_api_server_that_is_away_while_a_job_ends(stack: Stack) -> None:
    job = holding(stack, container_job(stack.images["small"], _GENTLE))
    with vigil_over(stack, job) as vigil:
        with stack.stopped("kube-apiserver"):
            cancel(stack, job)
            began = time.monotonic()
            while time.monotonic() < began + 45:
                assert stack.node_states()[_NODE] in ("allocated", "completing")
                vigil.stays_held(5)
            assert "No answer from https://kube-apiserver:6443" in obstacle(stack, job)
            assert "not released yet" in stack.exec(_NODE, "bridgectl", "status")
        back = time.time()
        vigil.await_release(90)  # the kubelet's watch waits up to a minute before it asks again
        stack.await_idle(30)
        print(f"idle {time.time() - back:.1f} s after the API server was back", file=sys.stderr)
    assert stack.epilog_answered(_NODE, job)
    # Its garbage collector waits ever longer between two tries, up to a minute; a new one begins at once.
    stack.docker("restart", "kube-controller-manager")
    eventually(lambda: not stack.names("pytorchjobs"), 90, "the garbage collector at work again")
