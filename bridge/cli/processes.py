"""The processes of a job's pods on this node, and which of them a signal may be sent to.

A process that neither handles nor blocks a signal ends by it: a launcher that knows nothing of SIGUSR1 must not be
taken down by a checkpoint that is asked of its workers. So nobody is sent what they are not prepared for.

Blocking counts where it lasts alone: the C library blocks every signal for as long as it forks, and whoever is sent one
just then ends by it behind the fork. A child that has not called exec yet, with the handlers of its parent, is nobody
to ask for a checkpoint either.
"""

import os
import signal
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_SANDBOX = "pause"  # it holds the pod's namespaces, handles SIGINT, and ends the pod by it
_LASTING = 0.2  # seconds: twice the period in which a pod that has used up its CPU limit may stand still in a fork
_WAITING = "do_sigtimedwait"  # where the kernel has a thread that is in sigwait()


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
    prepared = [process for process in found if _is_prepared(process, number)]
    if prepared:
        time.sleep(_LASTING)
    return Sent(sum(_sent(process, number) for process in prepared if _is_prepared(process, number)), len(found))


def _of_pods(names: Collection[str], proc: Path) -> Iterator[Path]:
    """Their processes, by the cgroup: cgroupfs writes a pod's uid with dashes, systemd with underscores."""
    for process in proc.iterdir():
        of_pod = process.name.isdigit() and any(name in _text(process / "cgroup") for name in names)
        if of_pod and _text(process / "comm").strip() != _SANDBOX:
            yield process


def _sent(process: Path, number: signal.Signals) -> bool:
    try:
        os.kill(int(process.name), number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _is_prepared(process: Path, number: signal.Signals) -> bool:
    """Whether it has a handler, or every thread of it blocks the signal, to wait for it; not those that wait just now:
    the kernel takes the signals that are awaited off the mask for so long.

    A lone thread that waits is not prepared: for what it waits is not shown, and those that do (tini, dumb-init) pass
    on what they are sent, to children whom it may end.
    """
    bit = 1 << (number - 1)
    masks = {thread: _masks(thread / "status") for thread in _listed(process / "task")}
    if any(mask.get("SigCgt", 0) & bit for mask in masks.values()):
        return True
    others = [mask for thread, mask in masks.items() if not _text(thread / "wchan").startswith(_WAITING)]
    return bool(others) and all(mask.get("SigBlk", 0) & bit for mask in others)


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
