"""Who keeps the machine's processors busy meanwhile."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.integration.stack import Stack

_TICKS = os.sysconf("SC_CLK_TCK")
_SERVERS = {
    "API server": "kube-apiserver",
    "etcd": "etcd",
    "operator": "training-operator",
    "controllers": "kube-controller-manager",
    "scheduler": "kube-scheduler",
}


def of_servers(stack: Stack) -> dict[str, list[int]]:
    """The process of each server of Kubernetes, by what it is called here."""
    return {name: [first_process(stack.container(service))] for name, service in _SERVERS.items()}


def family(process: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    return [process, *map(int, children)]


class Clock:
    """From its making on: how many processors each group of processes kept busy."""

    def __init__(self, groups: Mapping[str, Sequence[int]]) -> None:
        self._groups = groups
        self._began = time.monotonic()
        self._before = self._used()

    def columns(self) -> dict[str, list[float]]:
        """Processors, by group, and of everything on the machine."""
        seconds, used = time.monotonic() - self._began, self._used()
        return {f"processors: {name}": [(used[name] - was) / seconds] for name, was in self._before.items()}

    def _used(self) -> dict[str, float]:
        used = {name: sum(map(_seconds, processes)) for name, processes in self._groups.items()}
        return used | {"everything": _of_machine()}


def first_process(container: str) -> int:
    """Of a container, by its number here."""
    words = ["docker", "inspect", "--format", "{{.State.Pid}}", container]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def _seconds(process: int) -> float:
    """With those of children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _of_machine() -> float:
    """All but idling and waiting for disks."""
    fields = list(map(int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / _TICKS
