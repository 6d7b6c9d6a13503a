"""What is there yet, and when nothing may be there any more."""

from collections.abc import Iterable

from .history import History, Hook
from .plan import LIMIT, PROLOG_DEADLINE, RECONCILE_PERIOD

QUIET = 60.0  # seconds after the last job within which everything is gone
_OVERDUE = 60 * LIMIT + PROLOG_DEADLINE + 2 * RECONCILE_PERIOD  # seconds after which a run ends without an epilog


def gone_by(over: float, hooks: Iterable[Hook]) -> float:
    """The time by which everything is gone where the last job was over then. An epilog that failed may not have ended
    its run there: slurmd runs none twice, and a job without GPUs tells no other one."""
    failed = [hook for hook in hooks if hook.phase == "epilog" and hook.code != 0]
    return max([over + QUIET, *(hook.began + _OVERDUE for hook in failed)])


def left(history: History) -> list[str]:
    """Workloads, pods and processes that nobody has seen the end of."""
    pods = history.pods.values()
    return [
        *(f"workload {each.name}" for each in history.workloads.values() if each.gone is None),
        *(f"pod {each.name} on {each.node}" for each in pods if each.gone is None),
        *(f"a process of pod {each.name} on {each.node}" for each in pods if each.began and not each.ended),
    ]
