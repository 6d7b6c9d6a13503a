"""A namespace that only another credential than the nodes' own may act in."""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import audit
from .rows import await_training, explained, hears
from .specs import UNTIL_LET_GO, container_job
from .stack import Stack, eventually

_RBAC = Path(__file__).parents[2] / "rbac"
_NAMESPACE = "slurm-chemistry"
_TENANT = "chemistry"
_FILE = "/var/lib/slurm-k8s-bridge/credential/chemistry"
_USERS = "system:serviceaccount:slurm-k8s-bridge:"
_ONE = ("-N1", "-n1", "--mem=256M")
_QOS = "molecules"
_RULES = [
    {by: word, "namespace": _NAMESPACE, "kubeconfig": _FILE} for by, word in (("partition", "spare"), ("qos", _QOS))
]


@contextmanager
def another_identity(stack: Stack) -> Iterator[None]:
    """The namespace, the nodes' accounts that alone may act there, and each node's kubeconfig of its own one."""
    words = [str(_RBAC / "namespace"), _NAMESPACE, "restricted", _TENANT]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    try:
        eventually(
            lambda: not stack.refusal("apply", "-f", "-", stdin=text), 60, "a namespace that is not on its way out"
        )
        for node in stack.nodes:
            install = ("install", "-m", "0600", "-o", "slurm-k8s-bridge", "/dev/stdin", _FILE)
            enroll = ["enroll", node, "--account", _TENANT, "--server", "https://kube-apiserver:6443"]
            stack.exec(node, *install, stdin=stack.exec("login", "bridgectl", "node", *enroll))
        yield
    finally:
        for node in stack.nodes:
            stack.exec(node, "rm", "-f", _FILE)
        stack.kubectl("delete", "--wait=false", "--ignore-not-found", "namespace", _NAMESPACE)
        stack.kubectl(
            "-n", "slurm-k8s-bridge", "delete", "serviceaccounts", "-l", f"slurm-k8s-bridge/enrolled={_TENANT}"
        )
        stack.exec("login", "bridgectl", "node", "bind")


@contextmanager
def another_qos(stack: Stack) -> Iterator[None]:
    """One that the user may ask for."""
    stack.exec("slurmctld", "sacctmgr", "-i", "add", "qos", _QOS)
    try:
        stack.exec("slurmctld", "sacctmgr", "-i", "modify", "user", "ml", "set", f"qos+={_QOS}")
        yield
    finally:
        stack.exec("slurmctld", "sacctmgr", "-i", "delete", "qos", _QOS)


@contextmanager
def without_kubeconfig(stack: Stack, node: str) -> Iterator[None]:
    """A daemon that was started anew while the file was not there."""
    stack.exec(node, "mv", _FILE, f"{_FILE}.away")
    try:
        stack.kill_daemon(node)
        yield
    finally:
        stack.exec(node, "mv", f"{_FILE}.away", _FILE)


def asked(lines: Iterable[str]) -> dict[str, set[str]]:
    """Which of the bridge's accounts did what in that namespace, by the API server's audit log."""
    did: dict[str, set[str]] = {}
    for line in lines:
        if f'"{_NAMESPACE}"' not in line:
            continue
        entry = json.loads(line)
        who, what = audit.who(entry), entry.get("objectRef", {})
        if who.startswith(_USERS) and what.get("namespace") == _NAMESPACE:
            subresource = f"/{what['subresource']}" if "subresource" in what else ""
            did.setdefault(who.removeprefix(_USERS), set()).add(f"{entry['verb']} {what['resource']}{subresource}")
    return did


def test_only_the_credential_of_a_namespace_acts_there(stack: Stack) -> None:
    with Path(stack.description["audit_log"]).open() as log:
        log.seek(0, os.SEEK_END)
        with another_identity(stack), another_qos(stack), stack.configured(jobs=_RULES):
            jobs_run_there(stack)
            outlives_its_kubeconfig(stack)
            status = json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))
            assert status["connections"][f"Kubernetes in {_NAMESPACE}"]["fault"] == ""
            assert json.loads(stack.kubectl("-n", _NAMESPACE, "get", "pytorchjobs,pods", "-o", "json"))["items"] == []
            did = asked(log)
    assert set(did) == {f"{_TENANT}.{node}" for node in stack.nodes}, "the nodes' own credential has never tried"
    for what in ("create pytorchjobs", "patch pods", "get pods/log", "delete pytorchjobs", "watch pods"):
        assert what in did[f"{_TENANT}.compute1"], what


def jobs_run_there(stack: Stack) -> None:
    """By their rule, beside others in the usual namespace."""
    image = stack.images["small"]
    theirs = stack.submit(container_job(image, "echo theirs; exit 3"), "-N2", "--mem=256M", "--partition=spare")
    # Of a QOS the second node is not told: it finds its pod where it is.
    by_qos = stack.submit(container_job(image, f"echo here; {UNTIL_LET_GO}"), "-N2", "--mem=256M", f"--qos={_QOS}")
    usual = stack.submit(container_job(image, f"echo here; {UNTIL_LET_GO}"), "-N2", "--mem=256M")
    for job, namespace in ((by_qos, _NAMESPACE), (usual, stack.namespace)):
        await_training(stack, job)
        assert stack.kubectl("-n", namespace, "get", "pods", "-o", "name", "-l", f"slurm-k8s-bridge/job={job.id}")
        stack.let_go(job)
    stack.await_ended([theirs, by_qos, usual], 90)
    assert stack.sacct(theirs, "State,ExitCode") == "FAILED|3:0"
    assert stack.output(theirs).count("theirs\n") == 2
    assert {stack.sacct(job, "State,ExitCode") for job in (by_qos, usual)} == {"COMPLETED|0:0"}
    stack.await_idle(30)


def outlives_its_kubeconfig(stack: Stack) -> None:
    """The file goes, and the daemon with it: a run that has begun is not taken for gone, one that begins waits."""
    image, here = stack.images["small"], (*_ONE, "--partition=spare", "--nodelist=compute1")
    going_on = stack.submit(container_job(image, f"echo here; {UNTIL_LET_GO}"), *here)
    await_training(stack, going_on)
    with without_kubeconfig(stack, "compute1"):
        late = stack.submit(container_job(image, "echo late"), *here)
        hears(stack, late, "api-kubeconfig")
        stack.exec("login", "scancel", str(going_on.id), user="ml")
        why = "the kubeconfig for the namespace of this job cannot be used"
        eventually(lambda: why in str(explained(stack, going_on)["release"]), 60, "why it is not released")
        assert stack.show(going_on)["JobState"] == "COMPLETING"
    stack.await_ended([going_on, late], 90)
    stack.await_idle(60)
    assert stack.state(going_on) == "CANCELLED"
    assert stack.output(late) == "late\n"
