"""What the tests of broken nodes share: parts of one that are stopped, and a node that is drained and given back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from .specs import container_job
from .stack import Job, Stack, eventually

_SCONTROL = "/usr/bin/scontrol"
_UNITS = "slurm-k8s-bridge.service slurm-k8s-bridge-hook.socket slurm-k8s-bridge-user.socket"


@contextmanager
def without_daemon(stack: Stack, node: str) -> Iterator[None]:
    """The daemon stopped and its sockets gone."""
    stack.sh(node, f"systemctl stop {_UNITS}; rm -f /run/slurm-k8s-bridge/*.sock")
    try:
        yield
    finally:
        stack.sh(node, f"systemctl start {_UNITS}")
        eventually(
            lambda: stack.sh(node, "systemctl is-active slurm-k8s-bridge || true").strip() == "active", 30, "bridged"
        )


@contextmanager
def without_scontrol(stack: Stack, node: str) -> Iterator[None]:
    """The hooks of this node can mint no token."""
    stack.exec(node, "mv", _SCONTROL, f"{_SCONTROL}.away")
    try:
        yield
    finally:
        stack.exec(node, "mv", f"{_SCONTROL}.away", _SCONTROL)


@contextmanager
def stopped(stack: Stack, node: str, *units: str) -> Iterator[None]:
    """Units of a node are stopped, one after the other; afterwards Kubernetes shows the node whole again."""
    try:
        for unit in units:
            stack.exec(node, "systemctl", "stop", unit)
        yield
    finally:
        stack.exec(node, "systemctl", "start", *units)
        eventually(lambda: is_whole(stack, node), 90, f"{node} whole again")


def is_whole(stack: Stack, node: str) -> bool:
    """Whether Kubernetes shows all of a node."""
    shown = json.loads(stack.kubectl("get", "node", node, "-o", "json"))
    ready = [item["status"] for item in shown["status"]["conditions"] if item["type"] == "Ready"]
    taints = {taint["key"] for taint in shown["spec"].get("taints", [])}
    return (
        ready == ["True"]
        and shown["status"]["allocatable"].get("nvidia.com/gpu") == "2"
        and taints == {"slurm-k8s-bridge/slurm"}
    )


def answers(stack: Stack, node: str, job: Job, phase: str) -> list[tuple[int, str]]:
    """What the hooks of a job were told on a node."""
    told = [event for event in stack.daemon_log(node, job) if event["event"] == "hook_answered"]
    return [(event["exit"], event["message"] or "") for event in told if event["phase"] == phase]


def drained_alone(stack: Stack, job: Job, node: str, reason: str) -> None:
    """This node and no other is drained, says why, and lets the job go."""
    eventually(lambda: stack.node_states()[node] == "drained", 120, f"{node} drained, its epilog over")
    assert [state for name, state in stack.node_states().items() if name != node and "drain" in state] == []
    ((code, message),) = answers(stack, node, job, "prolog")
    assert code == 1 and reason in message
    status = json.loads(stack.exec(node, "bridgectl", "status", "-o", "json"))
    assert status["last_fault"]["job"] == job.id and reason in status["last_fault"]["sentence"]
    shown = stack.show(job)
    assert shown["Restarts"] == "1" and "held" not in shown["Reason"].lower(), shown


def mended(stack: Stack, node: str) -> None:
    """The administrator gives the node back, and it works: whatever the last run left there is seen to first."""
    stack.exec("slurmctld", "scontrol", "update", f"nodename={node}", "state=resume")
    job = stack.run(container_job(stack.images["small"], "echo mended"), "-N1", "-w", node, "--gpus-per-node=2")
    assert stack.output(job) == "mended\n"
    assert json.loads(stack.exec(node, "bridgectl", "status", "-o", "json"))["last_fault"] is None
