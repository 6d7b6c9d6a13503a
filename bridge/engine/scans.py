"""The scans of this node that hooks do for the daemon, which has no right to look into other users' processes."""

from collections.abc import Iterable
from typing import Any

from bridge.config.pod import Gpu
from bridge.engine.activities import ScanNode
from bridge.engine.desk import Desk, Hook
from bridge.engine.state import Run
from bridge.job.ids import RunKey
from bridge.wire.messages import ScanReply

_AGAIN = 0.5  # seconds between two scans of a run that found something alive
_TOLD = 20  # leftovers that are kept and told


class Scans:
    """Which run's scan is under way at which hook, and when the next one is due. Belongs to the engine's thread."""

    def __init__(self, gpu: Gpu, desk: Desk) -> None:
        self._gpu = gpu
        self._desk = desk
        self._under_way: dict[int, RunKey] = {}
        self._due: dict[RunKey, float] = {}

    def ask(self, run: Run, wanted: ScanNode, at: float) -> None:
        """Have a waiting hook scan for this run, unless one is at it, or it is too early for the next."""
        if run.key in self._under_way.values() or at < self._due.get(run.key, at):
            return
        self._due.pop(run.key, None)
        number = self._desk.ask_for_scan(run.key, self._question(run, wanted))
        if number is not None:
            self._under_way[number] = run.key

    def answered(self, hook: Hook, reply: ScanReply, at: float) -> tuple[RunKey, tuple[str, ...]] | None:
        """The run that this reply is about and what is alive of it; None when nobody asked (any more)."""
        hook.scanning = None
        key = self._under_way.pop(reply.id, None)
        if key is None:
            return None
        found = tuple(f"process {item.pid} ({item.command}): {item.why}" for item in reply.leftovers)
        if found or reply.error:
            self._due[key] = at + _AGAIN
        return key, found[:_TOLD]

    def closed(self, hook: Hook) -> None:
        """A hook is gone, and with it the scan that it may have been at."""
        if hook.scanning is not None:
            self._under_way.pop(hook.scanning, None)

    def forget(self, key: RunKey) -> None:
        """The run is released."""
        self._due.pop(key, None)

    def moments(self) -> Iterable[float]:
        """When the next scans are due."""
        return self._due.values()

    def _question(self, run: Run, wanted: ScanNode) -> dict[str, Any]:
        allocation = run.allocation
        # Of a run that only a job id tells of, nobody knows whether it had GPUs.
        had_gpus = allocation is None or allocation.gpus_here > 0
        return {
            "pods": list(wanted.uids),
            "devices": list(self._gpu.device_files) if had_gpus else [],
            "uid": None if allocation is None else allocation.uid,
        }
