"""The processes of a job's pods on this node, and which of them a signal may be sent to.

A process that neither handles nor blocks a signal ends by it: a launcher that knows nothing of SIGUSR1 must not be
taken down by a checkpoint that is asked of its workers. So nobody is sent what they are not prepared for.
"""

import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SANDBOX = "pause"  # it holds the pod's namespaces, handles SIGINT, and ends the pod by it


@dataclass(frozen=True)
class Sent:
    """To how many of the pods' processes a signal was sent."""

    signalled: int
    processes: int


def send(pods: Collection[str], number: signal.Signals, proc: Path = _PROC) -> Sent:
    """This signal to those processes of the pods with these uids that are prepared for it.

    They run as the job's user, and so does whoever asks: the kernel refuses what is somebody else's.
    """
    names = [name for uid in pods for name in (f"pod{uid}", f"pod{uid.replace('-', '_')}")]
    found = list(_of_pods(names, proc))
    return Sent(sum(_sent(process, number) for process in found), len(found))


def _of_pods(names: Collection[str], proc: Path) -> Iterator[Path]:
    """Their processes, by the cgroup: cgroupfs writes a pod's uid with dashes, systemd with underscores."""
    for process in proc.iterdir():
        of_pod = process.name.isdigit() and any(name in _text(process / "cgroup") for name in names)
        if of_pod and _text(process / "comm").strip() != _SANDBOX:
            yield process


def _sent(process: Path, number: signal.Signals) -> bool:
    if not _is_prepared(process, number):
        return False
    try:
        os.kill(int(process.name), number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _is_prepared(process: Path, number: signal.Signals) -> bool:
    """Whether it has a handler, or every thread of it blocks the signal, to wait for it."""
    threads = [_masks(thread / "status") for thread in _listed(process / "task")]
    bit = 1 << (number - 1)
    caught = any(thread.get("SigCgt", 0) & bit for thread in threads)
    return caught or (bool(threads) and all(thread.get("SigBlk", 0) & bit for thread in threads))


def _masks(status: Path) -> dict[str, int]:
    fields = (line.partition(":") for line in _text(status).splitlines())
    return {name: int(value, 16) for name, _, value in fields if name in ("SigBlk", "SigCgt")}


def _listed(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []  # it has ended


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # it has ended, or is somebody else's
