"""The tokens of the jobs' owners: in this process's memory, and nowhere else."""

from collections.abc import Callable

from bridge.job.ids import RunKey
from bridge.slurmrest.api import Credential

ASKED_BEFORE = 600.0  # seconds before the end of a token `attach` is asked for the next one
_MARGIN = 60.0  # seconds that a token took from slurmctld to this daemon, at most


class Tokens:
    """Written by the engine's thread, read by all others. A token that has ended is none: Slurm would refuse it, and
    what is refused is not tried again."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.unminted = ""  # why the last hook brought none
        self._kept: dict[RunKey, tuple[Credential, float | None]] = {}

    def keep(self, key: RunKey, brought: Credential) -> None:
        """The latest one counts."""
        lifetime = brought.lifetime
        until = None if lifetime is None else self._now() + max(lifetime - _MARGIN, 0.0)
        self._kept[key] = brought, until

    def of(self, key: RunKey) -> Credential | None:
        """The token with which to act for a run's owner now."""
        kept = self._kept.get(key)
        return None if kept is None or self._ends_within(kept[1], 0.0) else kept[0]

    def ends_soon(self, key: RunKey) -> bool:
        """Whether the owner should bring another one."""
        kept = self._kept.get(key)
        return kept is None or self._ends_within(kept[1], ASKED_BEFORE)

    def forget(self, key: RunKey) -> None:
        """The run is released."""
        self._kept.pop(key, None)

    def _ends_within(self, until: float | None, seconds: float) -> bool:
        return until is not None and self._now() + seconds >= until
