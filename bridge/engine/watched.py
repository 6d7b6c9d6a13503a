"""What a run watches: few look at the whole workload, every other node at its own pod alone."""

from collections.abc import Iterator

from bridge.engine import activities as do
from bridge.engine import crowd
from bridge.engine.activities import Activity
from bridge.engine.state import Run

_GANG_LOOK, _GANG_LOOKS = 8.0, 10.0  # seconds until another node looks for the workload of a pod that is not there


def watches(run: Run, at: float) -> Iterator[Activity]:
    """From the first moment to the end of the training."""
    if run.unattended is not None or (run.follows and (run.workload_uid or run.attached)):
        yield from watching(run)
    elif not run.follows and (run.prolog_answer is None or not run.opened):
        yield from _watching_own_pod(run, at)


def watching(run: Run) -> Iterator[Activity]:
    """The same from prolog to release, since every new watch has the API server tell all that is there again."""
    for namespace in run.rules.homes:
        if not run.may_be_creating:
            yield do.WatchWorkload(run.name, namespace)
        yield pods_of(run, namespace)


def pods_of(run: Run, namespace: str) -> Activity:
    """Of the whole run where this node follows it, else its own one."""
    return do.WatchPods(run.name, "" if run.follows else run.own_pod_name, namespace)


def next_look(run: Run, at: float) -> float | None:
    """When the workload of a pod that does not come is looked for the next time."""
    return run.began + _look_moment(run, _looks(run, at)) if _lacks_own_pod(run) else None


def _watching_own_pod(run: Run, at: float) -> Iterator[Activity]:
    """Not the workload, which changes with every pod of the run: each node would be told of all of them. What becomes
    of it shows in our own pod; where that does not come, it is looked for now and then."""
    for namespace in run.rules.homes:
        yield pods_of(run, namespace)
    if _lacks_own_pod(run) and _looks(run, at):
        yield do.LookForWorkload(run.name, _looks(run, at), run.tried("gang"))


def _lacks_own_pod(run: Run) -> bool:
    """Whether another node than the batch node waits in its prolog for a pod that it has not seen."""
    waits = run.prolog_answer is None and run.judgement is None and run.unattended is None
    return waits and not run.follows and run.own_pod is None


def _looks(run: Run, at: float) -> int:
    """How often the workload should have been looked for by now."""
    waited = at - run.began
    if waited < _look_moment(run, 0):
        return 0
    return 1 + max(0, 1 + int((waited - _look_moment(run, 1)) // _look_period(run)))


def _look_moment(run: Run, number: int) -> float:
    """Seconds from the beginning to this look. Behind the first one a node that has seen nothing of the run stops
    waiting."""
    if number == 0:
        return _GANG_LOOK + crowd.queue(run) * crowd.turn(run)
    period = _look_period(run)
    return _GANG_LOOK + crowd.queue(run) + period * (crowd.turn(run) + number - 1)


def _look_period(run: Run) -> float:
    """Seconds between two looks of a node."""
    return _GANG_LOOKS * crowd.times(run)
