"""Nodes that KWOK imitates: as many as one wants, Ready, and with pods that are Ready as soon as they are bound."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bridge import wellknown

from .stack import STACK

ALLOCATABLE = {
    "cpu": "192",
    "memory": "2048Gi",
    "ephemeral-storage": "1Ti",
    "pods": "110",
    "nvidia.com/gpu": "8",
    "amd.com/gpu": "8",
    "rdma/hca_shared_devices_a": "1k",
}


def node(name: str) -> dict[str, Any]:
    """A node that KWOK keeps Ready, and that only the bridge's pods tolerate."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"type": "kwok"}},
        "spec": {"taints": [{"key": wellknown.TAINT, "effect": "NoSchedule"}]},
        "status": {"allocatable": ALLOCATABLE, "capacity": ALLOCATABLE},
    }


@contextmanager
def imitation() -> Iterator[None]:
    """KWOK runs beside the stack. It ends the pods of its nodes, so it goes last."""
    subprocess.run([STACK, "kwok", "start"], check=True, stdout=sys.stderr)
    try:
        yield
    finally:
        subprocess.run([STACK, "kwok", "stop"], check=True, stdout=sys.stderr)
