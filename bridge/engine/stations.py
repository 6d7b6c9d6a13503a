"""When a run passed which station here, for people's eyes: `bridgectl explain` makes its time line of it.

Nothing is decided by these times. They are the journal's own, of the boot clock, moved to the calendar by what the two
clocks differed by when the prolog or the epilog began: times of the boot clock mean nothing after the next boot.
"""

from collections.abc import Callable

from bridge.engine.replacing import replace
from bridge.engine.state import Phase, Run, Workload

STATIONS: dict[str, Callable[[Run], bool]] = {
    "prolog": lambda run: run.phase is Phase.PROLOG or run.prolog_answer is not None,
    "created": lambda run: bool(run.workload_uid),
    "opened": lambda run: bool(run.opened),
    "ready": lambda run: run.ready_at is not None,
    "judged": lambda run: run.judgement is not None,
    "answered": lambda run: run.prolog_answer is not None,
    "attached": lambda run: run.attached,
    "ended": lambda run: run.outcome is not None,
    "epilog": lambda run: run.epilog_began is not None,
    "deleted": lambda run: run.epilog_began is not None and run.workload in (Workload.DELETING, Workload.GONE),
    "clear": lambda run: run.epilog_began is not None and run.pods_clear,
    "released": lambda run: run.phase is Phase.RELEASED,
    "unproven": lambda run: run.epilog_answer is not None,
}


def noted(before: Run | None, run: Run, at: float) -> Run:
    """The run with the stations that it has just come to, at this moment of the boot clock; the first time is kept.

    Of a run that began in a daemon of before there were stations, those of its prolog stay unknown.
    """
    if not run.clock_offset:
        return run

    def is_new(name: str, reached: Callable[[Run], bool]) -> bool:
        return name not in run.stations and reached(run) and (before is None or not reached(before))

    new = {name: at + run.clock_offset for name, reached in STATIONS.items() if is_new(name, reached)}
    return replace(run, stations={**run.stations, **new}) if new else run
