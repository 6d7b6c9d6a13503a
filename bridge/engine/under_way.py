"""What each run has under way, and what it takes to make that what the run wants."""

from collections.abc import Mapping

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.activities import Activity
from bridge.engine.executor import Executor
from bridge.engine.scans import Scans
from bridge.engine.state import Run
from bridge.engine.wanted import wanted
from bridge.job.ids import RunKey


class UnderWay:
    """The activities of all runs of this node. Belongs to the engine's thread."""

    def __init__(self, executor: Executor, scans: Scans) -> None:
        self._executor = executor
        self._scans = scans
        self._active: dict[RunKey, frozenset[Activity]] = {}

    def bring_about(self, run: Run, at: float) -> None:
        """Stop what this run wants no longer, and begin what it newly wants."""
        now, before = wanted(run, at), self._active.get(run.key, frozenset())
        for activity in before - now:
            self._executor.stop(run.key, activity)
        for activity in now - before:
            if not isinstance(activity, do.ScanNode):
                self._executor.start(run, activity)
        self._active[run.key] = now

    def ask_for_scans(self, runs: Mapping[RunKey, Run], at: float) -> None:
        """Have hooks do what the daemon may not; a run's next one is due without a change of the run."""
        for key, activities in self._active.items():
            for activity in activities:
                if isinstance(activity, do.ScanNode):
                    self._scans.ask(runs[key], activity, at)

    def end_try(self, key: RunKey, event: events.Event) -> None:
        """A try that came to nothing is over. What else happens in the same moment may have the count of tries begin
        anew: then the very same is wanted again, and must not pass for what is still under way."""
        if not isinstance(event, events.Failed | events.PodsRemain):
            return
        what = event.what if isinstance(event, events.Failed) else do.ProveGone.what
        active = self._active.get(key, frozenset())
        over = {activity for activity in active if isinstance(activity, do.Retried) and activity.what == what}
        for activity in over:
            self._executor.stop(key, activity)
        if over:
            self._active[key] = active - over

    def begin_anew(self, key: RunKey) -> None:
        """Its prolog begins a run anew that was adopted, and knows nothing of what its watches have told: they begin
        anew, too."""
        for activity in self._active.pop(key, frozenset()):
            self._executor.stop(key, activity)

    def forget(self, key: RunKey) -> None:
        """The run is released: it wanted nothing more when it was brought about for the last time."""
        self._active.pop(key, None)
        self._scans.forget(key)
        self._executor.forget(key)
