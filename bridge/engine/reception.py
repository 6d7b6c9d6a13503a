"""What the hooks that wait are told: each the answer of its run, and which markers it shall remove."""

from collections.abc import Callable, Mapping

from bridge import clock
from bridge.config import Config
from bridge.engine import shown
from bridge.engine.desk import Desk, Hook
from bridge.engine.last_fault import Fault, LastFault
from bridge.engine.release import epilog_answer
from bridge.engine.state import Answer, Mark, Phase, Run
from bridge.job.faults.runs import JOB_OVER
from bridge.job.ids import RunKey
from bridge.messages import bridged as messages

Runs = Mapping[RunKey, Run]
IsMarked = Callable[[Mark], bool]

_TURNED_AWAY = 512  # jobs let go without a run of which is kept why, for their `attach`


class Reception:
    """The answers at the desk. Of the engine's thread; what readers ask for may be read by others."""

    def __init__(self, config: Config, desk: Desk, last_fault: LastFault, is_marked: IsMarked) -> None:
        """``is_marked``: whether the marker of this run may be there."""
        self._config = config
        self._is_marked = is_marked
        self._desk = desk
        self._last_fault = last_fault
        self._marked: set[Mark] = set()
        self._turned_away: dict[int, str] = {}

    @property
    def last_fault(self) -> Fault | None:
        """Why this node was taken out of service, while no pod has started here since."""
        return self._last_fault.told

    def why_turned_away(self, job_id: int) -> str:
        """What the prolog of a job was told that was let go without a run, '' where there was none."""
        return self._turned_away.get(job_id, "")

    def recover(self, runs: Runs) -> None:
        """Take up what the journal knows: markers that are still there."""
        released = (run.mark for run in runs.values() if run.phase is Phase.RELEASED)
        self._marked = {mark for mark in released if self._is_marked(mark)}

    def proven_gone(self, mark: Mark) -> None:
        """A run was proven gone. Where its epilog does not remove its marker, be it that none was there or that it was
        killed, a later hook does."""
        self._marked.add(mark)

    def answer(self, runs: Runs) -> None:
        """Tell every hook that waits and has an answer now."""
        for hook in self._desk:
            answer = self._answer_for(hook, runs)
            if answer is not None:
                self._note(hook, answer, runs)
                unmarked = self._unmarked(hook, answer, runs)
                if self._desk.answer(hook, answer, unmarked, self._timeline(hook, runs)):
                    self._marked = {mark for mark in self._marked if mark.start is not None or mark not in unmarked}

    def _note(self, hook: Hook, answer: Answer, runs: Runs) -> None:
        run = None if hook.key is None else runs.get(hook.key)
        if hook.phase == "epilog":
            self._turned_away.pop(hook.job_id, None)
        elif hook.request.bridge and hook.key is None and answer.message:
            self._turned_away = dict([*self._turned_away.items(), (hook.job_id, answer.message)][-_TURNED_AWAY:])
        if answer.exit:
            self._last_fault.failed(hook.job_id, hook.phase, answer.message or "")
        elif hook.phase == "prolog" and run is not None and run.own_pod is not None and run.own_pod.started:
            self._last_fault.works()

    def _answer_for(self, hook: Hook, runs: Runs) -> Answer | None:
        if hook.decided is not None:
            return hook.decided
        if hook.phase == "epilog":
            return self._epilog_answer(hook, runs)
        if hook.key is None:
            return None
        run = runs.get(hook.key)
        if run is None or run.phase in (Phase.RELEASE, Phase.RELEASED):
            return Answer(0, JOB_OVER.finding(messages.ENDED_IN_PROLOG).sentence)
        return run.prolog_answer

    @staticmethod
    def _epilog_answer(hook: Hook, runs: Runs) -> Answer | None:
        """The answer to all runs of this job that it ended; one that began since is not among them."""
        of_job = [run for run in runs.values() if hook.waits_for_release_of(run.key)]
        if hook.request.lingers:
            return None if any(run.phase is Phase.RELEASE for run in of_job) else Answer(0)
        answers = [epilog_answer(run) for run in of_job if run.phase in (Phase.RELEASE, Phase.RELEASED)]
        if any(answer is None for answer in answers):
            return None
        failed = [answer for answer in answers if answer is not None and answer.exit]
        return failed[0] if failed else Answer(0)

    def _timeline(self, hook: Hook, runs: Runs) -> dict[str, str] | None:
        """What an epilog leaves beside the job's output file."""
        run = None if hook.key is None or hook.phase != "epilog" else runs.get(hook.key)
        wanted = run is not None and self._config.timeline_file and not hook.request.lingers
        return shown.timeline(run, clock.wall()) if run is not None and wanted else None

    def _unmarked(self, hook: Hook, answer: Answer, runs: Runs) -> tuple[Mark, ...]:
        """The runs whose markers this hook shall remove: its own job's after a proven epilog, and those that are still
        there although their runs were proven gone. Of a run whose start nobody knows that is told once: the marker of
        the job's next run would be removed, too."""
        alive = {key.job_id for key, run in runs.items() if run.phase is not Phase.RELEASED}
        if hook.phase == "epilog":
            own = {run.mark for run in runs.values() if hook.waits_for_release_of(run.key)}
            gone = own if answer.exit == 0 else set()
        else:
            waiting = {other.job_id for other in self._desk}
            self._marked = {mark for mark in self._marked if self._is_marked(mark)}
            gone = {mark for mark in self._marked if mark.job_id not in waiting}
        return tuple(mark for mark in gone if mark.job_id not in alive)
