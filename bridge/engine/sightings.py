"""What the watches tell of a run's workload and pods, and what that makes of them."""

from collections.abc import Mapping

from bridge.engine import events
from bridge.engine.replacing import replace
from bridge.engine.state import Handlers, Phase, Run, Suspicion, Workload
from bridge.job import faults
from bridge.job.faults import Finding, images
from bridge.job.faults.pod_events import of_event
from bridge.job.pods import PodFacts


def _workload_created(run: Run, event: events.WorkloadCreated) -> Run:
    return replace(run, workload=Workload.LIVE, workload_uid=event.uid, workload_seen_at=event.at, trouble="")


def _workload_seen(run: Run, event: events.WorkloadSeen) -> Run:
    if _waits_for_its_gate(run) and not event.facts.gated:
        return run  # made by a creation whose answer was lost; the next try recognises it, deletes it and says why
    run = replace(run, workload_shown=run.phase is Phase.RELEASE)
    if run.workload_uid and event.facts.uid != run.workload_uid:
        return run
    state = Workload.DELETING if event.facts.deleting else Workload.LIVE
    return replace(
        run,
        rules=run.rules.found_in(event.namespace),
        workload=state,
        workload_uid=event.facts.uid,
        workload_failed=event.facts.failed,
        workload_seen_at=event.at if run.workload_seen_at is None else run.workload_seen_at,
    )


def _waits_for_its_gate(run: Run) -> bool:
    """Whether it is this node's to find out what has come of its workload's creation."""
    waits = run.phase is Phase.PROLOG and run.judgement is None
    return run.is_batch and waits and not run.knows_its_workload


def _workload_gone(run: Run, _event: events.WorkloadGone) -> Run:
    if _waits_for_its_gate(run):
        return run  # no more than one that was not taken for ours
    return replace(run, workload=Workload.GONE)


def _workload_deleted(run: Run, event: events.WorkloadDeleted) -> Run:
    # The watch may have told of the end before the deletion's own answer was there.
    state = Workload.GONE if run.workload is Workload.GONE else Workload.DELETING
    return replace(run, workload=state, workload_uid=event.uid, trouble="")


def _pod_seen(run: Run, event: events.PodSeen) -> Run:
    facts = event.facts
    if facts.rank >= len(run.nodes) or _is_old_news(run, facts):
        return run
    if _replaces_a_started_pod(run, facts):
        return replace(run, lost=run.lost | {facts.rank})
    own = frozenset({facts.uid}) if facts.rank == run.rank else frozenset[str]()
    known = run.pods.get(facts.rank)
    by_pod = not run.is_batch  # hears of the workload so: in its prolog it watches nothing else
    return replace(
        run,
        rules=run.rules.found_in(event.namespace),
        workload=Workload.LIVE if by_pod and run.workload is Workload.NONE else run.workload,
        workload_uid=run.workload_uid or (facts.owner if by_pod else ""),
        pods={**run.pods, facts.rank: facts if known is None else facts.remembering(known)},
        lost=run.lost - {facts.rank},
        known_uids=run.known_uids | own,
        suspicions=_suspicions(run, event),
    )


def _replaces_a_started_pod(run: Run, facts: PodFacts) -> bool:
    """The operator made a pod again whose predecessor had been let through: the run lost that one, perhaps while
    nobody watched, and the successor stays behind its gate."""
    known = run.pods.get(facts.rank)
    if known is None:
        return run.adopted and facts.gate is not None
    if known.uid == facts.uid or known.gate is not None:
        return False
    is_weighed = run.failed_at is not None and run.outcome is None  # whether its end is the run's
    return known.deleting or not known.over or is_weighed


def _is_old_news(run: Run, facts: PodFacts) -> bool:
    """A watch that begins anew at an API server which lags behind goes back in time (kubernetes/kubernetes#59848), but
    no pod that has ended comes to life again."""
    known = run.pods.get(facts.rank)
    return known is not None and known.uid == facts.uid and known.over and not facts.over


def _suspicions(run: Run, event: events.PodSeen) -> Mapping[int, Suspicion]:
    pod, found = event.facts, faults.finding(event.facts)
    known = run.suspicions.get(pod.rank)
    if found is None:
        stays = known is not None and known.told == pod.uid and not pod.started
        return run.suspicions if stays else _without(run.suspicions, pod.rank)
    if known is not None and not known.told and images.says_less(found.fault, known.fault):
        return run.suspicions
    return _suspected(run, found, event.at)


def _suspected(run: Run, found: Finding, at: float, told: str = "") -> Mapping[int, Suspicion]:
    known = run.suspicions.get(found.rank)
    since = known.since if known is not None and known.fault == found.fault else at
    return {**run.suspicions, found.rank: Suspicion(found.fault, since, found.sentence, told)}


def _without(suspicions: Mapping[int, Suspicion], rank: int) -> Mapping[int, Suspicion]:
    return {key: value for key, value in suspicions.items() if key != rank}


def _pod_told(run: Run, event: events.PodTold) -> Run:
    pod, known = run.pods.get(event.rank), run.suspicions.get(event.rank)
    if pod is None or pod.uid != event.uid or pod.started or (known is not None and not known.told):
        return run
    if not event.reason:
        return replace(run, suspicions=_without(run.suspicions, event.rank))
    found = of_event(pod, event.reason, event.message)
    return replace(run, suspicions=_suspected(run, found, event.at, event.uid))


def _pod_gone(run: Run, event: events.PodGone) -> Run:
    if event.proven and event.rank == run.rank:
        run = replace(run, gone_uids=run.gone_uids | {event.uid})
    known = run.pods.get(event.rank)
    if known is None or known.uid != event.uid:
        return run
    return replace(run, lost=run.lost | {event.rank}, tries={**run.tries, "prove": 0})


def _share_told(run: Run, _event: events.ShareTold) -> Run:
    return replace(run, share_told=True)


def _gate_opened(run: Run, event: events.GateOpened) -> Run:
    return replace(run, opened=event.uid, known_uids=run.known_uids | {event.uid})


def met_unknown(before: Run | None, after: Run) -> str:
    """The words of what a pod has just shown that no row of the fault table describes, '' where it has not."""
    known = {} if before is None else before.suspicions
    new = (seen for rank, seen in after.suspicions.items() if seen != known.get(rank))
    return next((seen.sentence for seen in new if seen.fault is faults.UNKNOWN), "")


HANDLERS: Handlers = {
    events.WorkloadCreated: _workload_created,
    events.WorkloadSeen: _workload_seen,
    events.WorkloadGone: _workload_gone,
    events.WorkloadDeleted: _workload_deleted,
    events.PodSeen: _pod_seen,
    events.PodTold: _pod_told,
    events.PodGone: _pod_gone,
    events.ShareTold: _share_told,
    events.GateOpened: _gate_opened,
}
