"""This node's drain in Slurm, where the site has given the bridge an administrator's token.

A hook that fails drains its node anyway, and slurmd's reason says no more than `Prolog error` or `Epilog error`. A
reason that is there before survives it (slurmctld leaves a drained node as it is), so ours is set first. What is
drained only because a release was not proven in time is lifted when it is; nobody else's drain ever is: it is known
by its reason, which names the run.
"""

from bridge.config import Config
from bridge.engine.replacing import replace
from bridge.engine.state import Effort, Run

PATIENCE = 5.0  # seconds that a failing hook waits for its reason to be set
_LIMIT = 400  # characters: a person reads it in sinfo


def with_reason(config: Config, run: Run, sentence: str, *, until_released: bool) -> Run:
    """The run that wants this node drained with this reason, before its hook is told exit 1."""
    may = config.slurmrest is not None and config.slurmrest.may_drain
    if not may or run.drain is not Effort.NOT_WANTED or run.allocation is None:
        return run
    reason = f"slurm-k8s-bridge {run.name}: {sentence}"
    shown = reason if len(reason) <= _LIMIT else reason[: _LIMIT - 1] + "…"
    return replace(run, drain=Effort.WANTED, drain_reason=shown, drained_until_released=until_released)


def is_settled(run: Run, since: float, at: float) -> bool:
    """Whether the hook need not wait for the reason (any longer)."""
    return run.drain is not Effort.WANTED or at >= since + PATIENCE


def to_be_lifted(run: Run) -> bool:
    """Whether the node is drained, or is just being drained, for nothing but a release that was not proven in time."""
    return run.drain in (Effort.WANTED, Effort.DONE) and run.drained_until_released
