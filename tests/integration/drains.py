"""Nodes that are drained: what keeps a release from being proven, and what Slurm and the bridge say of it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from .stack import Job, Stack

GPU = "/dev/fakegpu0"


@contextmanager
def gpu_held(stack: Stack, node: str) -> Iterator[None]:
    """A process of the job's owner, in no pod, holds a GPU of this node."""
    words = [
        "docker",
        "exec",
        "-i",
        "--user",
        "ml",
        stack.container(node),
        "sh",
        "-c",
        f"exec 3< {GPU}; echo held; cat",
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield
        finally:
            process.stdin.close()


def reason(stack: Stack, node: str) -> str:
    """Why Slurm says that this node is out of service; '' when it is in service."""
    # A line for each of its partitions.
    shown = stack.exec("login", "sinfo", "-h", "-N", "-n", node, "-o", "%T|%E").splitlines()
    state, _, words = shown[0].partition("|")
    return words if "drain" in state else ""


def is_released(stack: Stack, job: Job, node: str = "compute1") -> bool:
    """The run's marker is gone from this node."""
    return str(job.id) not in stack.exec(node, "ls", "/var/lib/slurm-k8s-bridge/runs").split()
