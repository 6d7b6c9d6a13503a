"""Who keeps the machine's processors busy meanwhile."""

import os
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
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

Used = Callable[[], float]
"""Seconds of processors that somebody has used so far."""


def of_servers(stack: Stack) -> dict[str, Used]:
    """Of each server of Kubernetes, by what it is called here."""
    return {name: of_processes([first_process(stack.container(service))]) for name, service in _SERVERS.items()}


def children(process: int) -> list[int]:
    """Those that it has made, and that are there."""
    return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split())]


def of_processes(processes: Sequence[int]) -> Used:
    """With those of their children that have ended."""
    return lambda: sum(map(_seconds, processes))


def of_own_children() -> float:
    """Of those that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Clock:
    """From its making on: how long each of some groups kept processors busy."""

    def __init__(self, groups: Mapping[str, Used]) -> None:
        self._groups = {**groups, "bench": time.process_time, "everything": _of_machine}
        self._began = time.monotonic()
        self._before = {name: used() for name, used in self._groups.items()}

    def seconds(self) -> dict[str, float]:
        """By group, of this process too, and of everything on the machine."""
        return {name: used() - self._before[name] for name, used in self._groups.items()}

    def columns(self) -> dict[str, list[float]]:
        """How many processors each kept busy, on average."""
        passed = time.monotonic() - self._began
        return {f"processors: {name}": [seconds / passed] for name, seconds in self.seconds().items()}


def first_process(container: str) -> int:
    """Of a container, by its number here."""
    words = ["docker", "inspect", "--format", "{{.State.Pid}}", container]
    return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def _seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _of_machine() -> float:
    """All but idling and waiting for disks."""
    fields = list(map(int, Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / _TICKS
