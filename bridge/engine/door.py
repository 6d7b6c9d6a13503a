"""Who may come in: which run a hook belongs to, and what must be gone before a prolog may begin.

A run whose epilog ended without proof still may hold this node's GPUs. Until it is proven gone no prolog, of
whatever job, is let through; the hooks that wait here are root and can do the missing scan. A job id that
came back with another start is another run: the older one has to be gone first, too. Nor does it open the door that a
run is known: its workload, made by another node, may have been found here while its own prolog still waits. Nor that
none is known: the journal may be lost, and a marker is all that is left of a run.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from bridge.config import Config
from bridge.engine import drain, events, lost
from bridge.engine.desk import Desk, Hook
from bridge.engine.rules import Rules
from bridge.engine.state import Answer, Phase, Run, SpecFile
from bridge.errors import AllocationError
from bridge.job.faults.runs import EARLIER_RUN, ENVIRONMENT
from bridge.job.ids import RunKey
from bridge.messages import bridged as messages
from bridge.slurm.environ import Allocation, from_environ
from bridge.slurmrest.api import Credential
from bridge.store.markers import Marker


@dataclass(frozen=True)
class Admission:
    """What a hook's wish to come in means: events of runs, a run to forget first, or an answer at once."""

    opened: tuple[tuple[RunKey, events.Event], ...] = ()
    forget: RunKey | None = None
    answer: Answer | None = None


WAIT = Admission()
LIVE_RUNS = 512  # of a node that are not released: more than Kubernetes runs pods there


class Door:
    """The rules for hooks that arrive."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._unknown: dict[int, Marker | None] = {}
        self._since = 0.0

    def recover(self, at: float) -> None:
        """What a hook that is older than this daemon has begun nobody can tell."""
        self._since = at

    def see(self, hook: Hook, markers: Callable[[], Mapping[int, Marker | None]]) -> None:
        """Take up which markers there are as a prolog arrives that is given GPUs: by its marker alone a run may be
        known that the journal has lost, or never knew, since both of its hooks were killed before they asked."""
        if _has_gpus(hook):
            self._unknown = dict(markers())

    def epilog(self, hook: Hook, runs: Mapping[RunKey, Run]) -> Admission:
        """Consent ends for every run of this job here, and its time counts from the hook's beginning, as Slurm's
        does; sets ``hook.key``. Of the very run that ends the journal may know nothing, though it knows others of the
        job: it may have been restored from an old copy. Where it is lost, all that is known of a run that was not
        proven gone is the hook that lingers for it."""
        of_job = [key for key in runs if key.job_id == hook.job_id]
        if hook.request.lingers and of_job:
            return self._lingering(hook, [key for key in of_job if runs[key].phase in (Phase.RELEASE, Phase.RELEASED)])
        at, marker, allocation = hook.arrived, hook.request.marker, _ended_allocation(hook)
        ended = tuple((key, events.EpilogBegan(at)) for key in of_job)
        if allocation is not None:
            hook.key = _key(allocation)
        else:
            restart = 0 if marker is None else marker.restart
            hook.key = RunKey(self._config.cluster.name, hook.job_id, restart)
        start = None if marker is None or marker.restart != hook.key.restart else marker.start
        if ended and _is_known(hook.key, start if allocation is None else allocation.start_time, runs):
            hook.key = ended[-1][0]
            return Admission(ended)
        began = events.EpilogBegan(at, allocation, hook.key.cluster, hook.job_id, hook.key.restart, start)
        others = tuple((key, event) for key, event in ended if key != hook.key)
        return Admission((*others, (hook.key, began)), hook.key if hook.key in runs else None)

    @staticmethod
    def _lingering(hook: Hook, ended: list[RunKey]) -> Admission:
        """slurmd has been told how this epilog ended, so it ends nothing that is known: the job may have begun anew."""
        hook.key = ended[-1] if ended else None
        return Admission(answer=None if ended else Answer(0))

    def prolog(self, hook: Hook, runs: Mapping[RunKey, Run], desk: Desk, at: float) -> Admission:
        """Whether this prolog may begin; sets ``hook.key`` when it does."""
        ended = tuple(run.key for run in runs.values() if _slurm_has_ended(run, hook))
        if ended:
            return Admission(tuple((key, events.EpilogBegan(at, awaited=False)) for key in ended))
        forgotten = tuple(self._lost(hook, runs, desk, at))
        if forgotten:
            return Admission(forgotten)
        blockers = [run for run in runs.values() if _may_hold(run, hook, desk)]
        try:
            allocation = from_environ(hook.request.env) if hook.request.bridge else None
        except AllocationError as error:
            told = Answer(0, ENVIRONMENT.finding(str(error)).sentence)
            return self._wait(hook, blockers, at) if blockers else Admission(answer=told)
        if allocation is None:
            return self._wait(hook, blockers, at) if blockers else Admission(answer=Answer(0))
        key = _key(allocation)
        known = runs.get(key)
        is_same = known is not None and _is_start_of(known, allocation)
        if known is not None and is_same and not _only_adopted(known):
            return self._let_in(hook, key, allocation, at)
        if known is not None and not is_same and known.phase in (Phase.PROLOG, Phase.RUNNING):
            return Admission(((key, events.EpilogBegan(at, awaited=False)),))
        if known is not None and known.phase is Phase.RELEASE and known not in blockers:
            blockers.append(known)
        if blockers:
            return self._wait(hook, blockers, at)
        if known is None and _live(runs) >= LIVE_RUNS:
            return self._wait_for_room(hook, at)
        return self._let_in(hook, key, allocation, hook.arrived, forget=None if known is None or is_same else key)

    def _lost(
        self, hook: Hook, runs: Mapping[RunKey, Run], desk: Desk, at: float
    ) -> Iterator[tuple[RunKey, events.Event]]:
        """Runs that had this node's GPUs, which Slurm gives to another job, and of which the marker alone is left: no
        more is known of them than by an epilog that has nothing but a job's number."""
        arriving = {other.job_id for other in desk if other.waits_at_door}
        for job_id, marker in list(self._unknown.items()) if _has_gpus(hook) else ():
            if lost.is_known(job_id, marker, runs):
                del self._unknown[job_id]
            elif job_id not in arriving and (marker is None or marker.gpus):
                del self._unknown[job_id]
                restart, start = (0, None) if marker is None else (marker.restart, marker.start)
                key = RunKey(self._config.cluster.name, job_id, restart)
                yield key, events.EpilogBegan.bare(at, key, start, awaited=False)

    def _let_in(
        self, hook: Hook, key: RunKey, allocation: Allocation, at: float, forget: RunKey | None = None
    ) -> Admission:
        hook.key = key
        return Admission(((key, self._began(hook, allocation, at)),), forget)

    def deadline(self, hook: Hook) -> float:
        """When a hook has waited long enough."""
        timing = self._config.timing
        return hook.arrived + (timing.prolog_deadline if hook.phase == "prolog" else timing.epilog_deadline)

    def _wait(self, hook: Hook, blockers: list[Run], at: float) -> Admission:
        """A hook that fails drains its node. So that this one's reason is told before, the runs that it fails for come
        to their own deadline first."""
        if at < self.deadline(hook):
            unawaited = [run.key for run in blockers if not run.awaited]
            is_late = at >= self.deadline(hook) - self._config.timing.epilog_deadline - drain.PATIENCE
            return Admission(tuple((key, events.EpilogBegan(at)) for key in unawaited if is_late))
        names = ", ".join(sorted({run.name for run in blockers}))
        found = EARLIER_RUN.finding(names, job=blockers[0].key.job_id)
        return Admission(answer=Answer(1, found.sentence))

    def _wait_for_room(self, hook: Hook, at: float) -> Admission:
        """Never the node's fault, and nobody else's: the job goes on without a run, and `attach` says that there is
        none."""
        if at < self.deadline(hook):
            return WAIT
        return Admission(answer=Answer(0, messages.NODE_CROWDED.sentence(limit=LIVE_RUNS)))

    def _began(self, hook: Hook, allocation: Allocation, at: float) -> events.PrologBegan:
        request = hook.request
        spec = None
        if request.spec is not None:
            spec = SpecFile(request.spec.path, request.spec.data, request.spec.error)
        rest = self._config.slurmrest
        reporting = rest is not None and (request.token is not None or rest.has_service)
        return events.PrologBegan(
            at,
            allocation,
            request.groups,
            spec,
            reporting,
            request.token_error or "",
            Rules.of(self._config, allocation),
            older=hook.arrived < self._since,
        )


def _live(runs: Mapping[RunKey, Run]) -> int:
    return sum(run.phase is not Phase.RELEASED for run in runs.values())


def credential(hook: Hook) -> Credential | None:
    """The owner's token that this hook brought, if any."""
    user = hook.request.env.get("SLURM_JOB_USER", "")
    if not (hook.request.token and user):
        return None
    return Credential(user, hook.request.token)


def _may_hold(run: Run, hook: Hook, desk: Desk) -> bool:
    """Whether this run was never proven gone, and nobody is at work on that any more; or is, while Slurm gives to this
    hook's job what the run may have: a slurmctld that has lost a job ends it and takes its nodes for idle (24.11)."""
    if run.phase is not Phase.RELEASE:
        return False
    return not desk.waiting(run.key, "epilog") or (_has_gpus(hook) and _may_have_gpus(run))


def _only_adopted(run: Run) -> bool:
    """Whether no prolog has brought this run to this node's daemon."""
    return run.adopted and run.phase is Phase.RUNNING


def _has_gpus(hook: Hook) -> bool:
    return bool(hook.request.env.get("SLURM_JOB_GPUS"))


def _may_have_gpus(run: Run) -> bool:
    """A run that has some has all of its node; of one that only a bare epilog told us about nobody knows."""
    return run.allocation is None or run.allocation.gpus_here > 0


def _slurm_has_ended(run: Run, hook: Hook) -> bool:
    """Whether this prolog shows that the run is over although no epilog told us (on a node that was down Slurm
    waits for none): an earlier start of the same job, or a run with GPUs, which had all of them, while Slurm gives
    GPUs of this node to another job."""
    if run.phase not in (Phase.PROLOG, Phase.RUNNING) or run.allocation is None:
        return False
    if run.key.job_id == hook.job_id:
        return run.key.restart < _restart(hook)
    return _may_have_gpus(run) and _has_gpus(hook)


def _restart(hook: Hook) -> int:
    text = hook.request.env.get("SLURM_JOB_RESTART_COUNT", "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _is_known(key: RunKey, start: int | None, runs: Mapping[RunKey, Run]) -> bool:
    """Whether the run that an epilog ends is among these, or one under its key that is not proven gone itself. Without
    a start nobody says which run of the job it is."""
    run = runs.get(key)
    return start is None or (run is not None and (run.phase is not Phase.RELEASED or run.mark.start == start))


def _is_start_of(run: Run, allocation: Allocation) -> bool:
    """Whether this is the run that we know, and not a later one under the same key. Of a run that only a bare
    epilog told us about no start is known: once it is released, what comes is another one."""
    if run.allocation is None:
        return run.phase is not Phase.RELEASED
    return run.allocation.start_time == allocation.start_time


def _key(allocation: Allocation) -> RunKey:
    return RunKey(allocation.cluster, allocation.job_id, allocation.restart)


def _ended_allocation(hook: Hook) -> Allocation | None:
    """The allocation that an epilog ends. Of a job that was requeued while its prolog waited, slurmd 24.11 says the
    next restart count already; the marker says which run its prolog began."""
    allocation, marker = _allocation_or_none(hook), hook.request.marker
    if allocation is None or marker is None or marker.restart >= allocation.restart:
        return allocation
    return replace(allocation, restart=marker.restart, start_time=marker.start or allocation.start_time)


def _allocation_or_none(hook: Hook) -> Allocation | None:
    try:
        return from_environ(hook.request.env)
    except AllocationError:
        return None
