"""Doing what runs want: each activity in a thread of its own, its result an event on the engine's queue."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from bridge import clock
from bridge.engine import activities as do
from bridge.engine import crowd, events
from bridge.engine.activities import Activity
from bridge.engine.health import SLURMRESTD, Health, server_of
from bridge.engine.state import Run
from bridge.errors import BridgeError, Observed, Unavailable
from bridge.job.faults import UNKNOWN, Finding, row
from bridge.job.faults.runs import BRIDGE_BUG
from bridge.job.faults.servers import of_kubernetes, of_slurm
from bridge.job.ids import RunKey

log = structlog.get_logger()

_FIRST_DELAY = 0.1  # seconds before the second attempt; doubled for each further one
_LONGEST_REPORT = 60.0  # seconds between two tries to tell slurmctld something: a job may run for days
_LONGEST_JITTER = 5.0  # seconds more than a server asked for, so that not all that it refused come back at once
_AT_ONCE = (do.WatchWorkload, do.LookForWorkload, do.WatchPods)

Post = Callable[[Run, events.Event, threading.Event | None], None]
"""Takes what came of a run's activity, and the signal to stop of one that goes on telling."""


@dataclass(frozen=True)
class Task:
    """One activity under way: the run as it was when the work began, and the signal to stop."""

    run: Run
    activity: Activity
    post: Callable[[events.Event], None]
    stop: threading.Event = field(default_factory=threading.Event)


Work = Callable[[Task], events.Event | None]


class Executor:
    """Starts and stops activities. `start`, `stop` and `stop_all` belong to the engine's thread."""

    def __init__(self, works: dict[type[Activity], Work], post: Post) -> None:
        self._works = works
        self._post = post
        self.health = Health()
        self._tasks: dict[tuple[RunKey, Activity], Task] = {}
        self._lanes: dict[tuple[RunKey, str], threading.Lock] = {}
        self._not_before: dict[tuple[RunKey, str], float] = {}  # by lane, where a server asked for a pause

    def start(self, run: Run, activity: Activity) -> None:
        """Begin this activity for this run."""
        key, stop = run.key, threading.Event()
        ended = stop if isinstance(activity, do.Endless) else None
        task = Task(run, activity, lambda event: self._post(run, event, ended), stop)
        self._tasks[key, activity] = task
        lane = self._lanes.setdefault((key, activity.lane), threading.Lock())
        name = f"{run.name}:{type(activity).__name__}"
        threading.Thread(target=self._perform, args=(task, lane), name=name, daemon=True).start()

    def stop(self, key: RunKey, activity: Activity) -> None:
        """The run no longer wants this: a wait ends at once, a request under way is let finish."""
        task = self._tasks.pop((key, activity), None)
        if task is not None:
            task.stop.set()

    def forget(self, key: RunKey) -> None:
        """A run is released: nothing of it is under way any more."""
        for lane in [lane for lane in self._lanes if lane[0] == key]:
            del self._lanes[lane]
            self._not_before.pop(lane, None)

    def stop_all(self) -> None:
        """The daemon ends; the journal knows what was wanted."""
        for task in self._tasks.values():
            task.stop.set()
        self._tasks.clear()

    def _perform(self, task: Task, lane: threading.Lock) -> None:
        activity = task.activity
        if isinstance(activity, do.Endless):
            self._keep_up(task)
        elif not task.stop.wait(self._wait(task, activity.attempt if isinstance(activity, do.Retried) else 0)):
            with lane:
                if not task.stop.is_set():
                    self._run(task)

    def _keep_up(self, task: Task) -> None:
        """A watch or a log until it has said all: no other event would begin it anew after a fault."""
        faults = 0
        while not task.stop.wait(self._wait(task, faults)) and not self._run(task):
            faults += 1

    def _wait(self, task: Task, faults: int) -> float:
        """Seconds before this try."""
        until = self._not_before.get((task.run.key, task.activity.lane), 0.0)
        return max(_delay(task, faults) if faults else _spread(task), until - clock.now())

    def _run(self, task: Task) -> bool:
        """One try; whether it came to its end."""
        event, error = self._tried(task)
        failed = isinstance(event, events.Failed)
        self.health.note(task.activity, event, error, clock.now(), _apart(task))
        if event is not None and not (failed and isinstance(task.activity, do.Endless)):
            task.post(event)
        return not failed

    def _heed(self, task: Task, error: BridgeError) -> None:
        if isinstance(error, Unavailable) and error.retry_after:
            until = clock.now() + error.retry_after + random.uniform(0.0, min(error.retry_after, _LONGEST_JITTER))
            self._not_before[task.run.key, task.activity.lane] = until

    def _tried(self, task: Task) -> tuple[events.Event | None, BridgeError | None]:
        activity, began = task.activity, clock.now()
        with structlog.contextvars.bound_contextvars(run=str(task.run.key), job=task.run.key.job_id):
            try:
                return self._works[type(activity)](task), None
            except BridgeError as error:
                self._heed(task, error)
                found = _found(activity, error)
                told = {"activity": type(activity).__name__, "fault": found.fault.name, "error": str(error)}
                log.warning("activity_failed", **told, seconds=round(clock.now() - began, 3))
                if found.fault is UNKNOWN:
                    self.health.note_unknown(str(error))
                return _failed(activity, found), error
            except Exception:
                # A bug in one activity must not lose the run: it is told and tried again.
                log.exception("activity_bug", activity=type(activity).__name__)
                return _failed(activity, BRIDGE_BUG.finding(type(activity).__name__)), None


def _spread(task: Task) -> float:
    """A thousand nodes begin a run, and end it, in the same moment; the batch node has all of them wait for it."""
    if task.run.is_batch or not isinstance(task.activity, _AT_ONCE):
        return 0.0
    return random.uniform(0.0, crowd.spread(task.run, of_pods=isinstance(task.activity, do.WatchPods)))


def _apart(task: Task) -> str:
    """The namespace that is spoken to with a credential of its own; '' where it is the node's."""
    activity = task.activity
    watched = activity.namespace if isinstance(activity, do.WatchWorkload | do.WatchPods) else ""
    return task.run.rules.apart(watched)


def _found(activity: Activity, error: BridgeError) -> Finding:
    if isinstance(error, Observed):
        return Finding(row(error.fault), str(error))
    return of_slurm(error) if server_of(activity) == SLURMRESTD else of_kubernetes(error)


def _failed(activity: Activity, found: Finding) -> events.Failed:
    what = activity.what if isinstance(activity, do.Retried) else ""
    return events.Failed(clock.now(), what, found.sentence, found.fault.name)


def _delay(task: Task, faults: int) -> float:
    """With jitter, so that those whose first try failed together do not come back together."""
    longest = _LONGEST_REPORT if isinstance(task.activity, do.Report) else crowd.longest_delay(task.run)
    return min(_FIRST_DELAY * 2.0 ** min(faults - 1, 10), longest) * random.uniform(0.8, 1.2)
