"""The epilog: from its question to the proof that nothing of the run is left."""

from bridge.engine import drain, events, training
from bridge.engine.replacing import replace
from bridge.engine.state import Effort, Handlers, Phase, Run, Workload


def epilog_began(run: Run, event: events.EpilogBegan) -> Run:
    """Consent has ended: the run is on its way out."""
    a_hook_waits = run.awaited and run.epilog_answer is None
    the_same_hook = a_hook_waits and run.epilog_began == event.at
    if run.phase is Phase.RELEASED or the_same_hook:
        return run
    # Who asks again after a no does not wait for the pause that the last failure earned.
    tries = run.tries if run.epilog_answer is None else {}
    ended = training.stopped(run) if run.stop_asked and run.outcome is None else run.outcome
    if run.workload is Workload.NONE and (run.unattended is not None or run.may_be_forgotten):
        run = replace(run, workload=Workload.UNKNOWN)  # by a journal that may be old or new: it proves nothing
    # What was still being made when consent ended may be there, whatever is told of it later.
    made_nothing = run.phase is not Phase.RELEASE and run.created_nothing
    return replace(
        run,
        outcome=ended,
        phase=Phase.RELEASE,
        pods_clear=run.pods_clear or made_nothing,
        epilog_began=event.at,
        awaited=event.awaited or a_hook_waits,
        epilog_answer=None,
        leftovers=(),
        trouble="",
        tries=tries,
        unattended=None,
        clock_offset=event.clock_offset or run.clock_offset,
    )


def _pods_clear(run: Run, event: events.PodsClear) -> Run:
    if run.phase is not Phase.RELEASE:
        return run  # before consent has ended the next pod may be on its way
    # Without its marker no hook comes to scan the node for it either.
    phase = Phase.RELEASED if run.unmarked else run.phase
    known_uids = run.known_uids | frozenset(event.uids)
    return replace(run, phase=phase, pods_clear=True, known_uids=known_uids, trouble="")


def _pods_remain(run: Run, event: events.PodsRemain) -> Run:
    tries = {**run.tries, "prove": run.tried("prove") + 1}
    return replace(run, tries=tries, known_uids=run.known_uids | frozenset(event.uids), trouble=event.sentence)


def _scanned(run: Run, event: events.Scanned) -> Run:
    if run.phase is not Phase.RELEASE or not run.pods_clear:
        return run
    if event.error or event.leftovers:
        tries = {**run.tries, "scan": run.tried("scan") + 1}
        return replace(run, tries=tries, leftovers=event.leftovers, trouble=event.error)
    if drain.to_be_lifted(run):
        # A drain under way may have been carried out already: it is followed by the resume, never the other way round.
        return replace(run, drain=Effort.DONE, resume=Effort.WANTED, leftovers=(), trouble="")
    return replace(run, phase=Phase.RELEASED, leftovers=())


def _resumed(run: Run, event: events.Resumed) -> Run:
    return given_back(run, event.given_up)


def given_back(run: Run, fault: str) -> Run:
    """Proven gone, and our drain is lifted, or cannot be: the proof does not wait for slurmctld any longer."""
    if run.resume is not Effort.WANTED:
        return run
    return replace(run, phase=Phase.RELEASED, resume=Effort.GIVEN_UP if fault else Effort.DONE, trouble=fault)


HANDLERS: Handlers = {
    events.EpilogBegan: epilog_began,
    events.PodsClear: _pods_clear,
    events.PodsRemain: _pods_remain,
    events.Scanned: _scanned,
    events.Resumed: _resumed,
}
