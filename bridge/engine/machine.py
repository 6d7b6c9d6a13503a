"""The one way in which a run changes: `step(config, run, event)`. Pure: no I/O, no clock, no logger.

An event first changes what is known (`_TABLE`), then the run is led on as far as that knowledge carries
(`prolog`, `training`, `release`). What must be done for it is a function of the run alone (`wanted`), so
that a replayed journal asks for exactly the work that a crash left undone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bridge.config import Config
from bridge.engine import drain, events, prolog, release, stations, training
from bridge.engine.activities import Activity
from bridge.engine.state import (
    Answer,
    Effort,
    Judgement,
    NodeFault,
    Phase,
    Run,
    Suspicion,
    Workload,
    forgotten_run,
    new_run,
)
from bridge.engine.wanted import wanted
from bridge.job import faults
from bridge.job.faults import Finding, Verdict, images, runs, servers
from bridge.job.faults.pod_events import of_event
from bridge.job.ids import RunKey
from bridge.job.pods import PodFacts
from bridge.slurm import states

_EFFORTS = 5  # tries to report or to cancel before the prolog goes on without


@dataclass(frozen=True)
class Step:
    """A run after an event, the activities to start and those to stop."""

    run: Run
    start: frozenset[Activity]
    stop: frozenset[Activity]


def step(config: Config, run: Run | None, event: events.Event) -> Step:
    """The run after this event, and what changes in the work for it."""
    before = frozenset[Activity]() if run is None else wanted(run, event.at)
    after = next_run(config, run, event)
    now = wanted(after, event.at)
    return Step(after, now - before, before - now)


def next_run(config: Config, run: Run | None, event: events.Event) -> Run:
    """The run after this event.

    Raises ValueError when a run would begin with anything but a prolog, an epilog or an adoption.
    """
    if run is not None and run.adopted and run.phase is Phase.RUNNING and isinstance(event, events.PrologBegan):
        run = None  # its prolog still waits, and knows better: nothing of this run has been answered
    known = _TABLE[type(event)](run or _first_sight(config, event), event)
    after = _lightened(_lead_on(known.rules.applied(config), known, event.at))
    return stations.noted(run, after, event.at)


def _first_sight(config: Config, event: events.Event) -> Run:
    match event:
        case events.PrologBegan():
            return new_run(config, event.allocation, event.at)
        case events.EpilogBegan():
            key = RunKey(event.cluster, event.job_id, event.restart)
            return forgotten_run(config, event.at, event.allocation, key, event.start)
        case events.Adopted():
            return _adopted_run(config, event)
    raise ValueError(f"a run cannot begin with {event.kind}")


def _adopted_run(config: Config, event: events.Adopted) -> Run:
    """Its prolog was answered in the time that the journal has lost."""
    return replace(
        new_run(config, event.allocation, event.at),
        phase=Phase.RUNNING,
        adopted=True,
        unmarked=not event.marked,
        prolog_answer=Answer(0),
        workload=Workload.LIVE,
        workload_uid=event.uid,
        workload_seen_at=event.at,
        opened=event.opened,
        known_uids=frozenset({event.opened} - {""}),
        reporting=event.reporting,
        rules=event.rules,
    )


def _lead_on(config: Config, run: Run, at: float) -> Run:
    if run.phase is Phase.PROLOG:
        run = prolog.advance(config, run, at)
    if run.phase is Phase.RUNNING:
        run = training.advance(run, at)
    if run.phase is Phase.RELEASE:
        run = release.advance(config, run, at)
    return run


def _lightened(run: Run) -> Run:
    """Spec, manifest and what they are made by are of use until the prolog is answered. They may have 2.5 MB, and runs
    are many."""
    if run.phase is Phase.PROLOG:
        return run
    spec = run.spec if run.spec is None or not run.spec.data else replace(run.spec, data="")
    if spec is run.spec and not run.manifest and not run.rules.site:
        return run
    return replace(run, spec=spec, manifest="", rules=replace(run.rules, site={}))


def _prolog_began(run: Run, event: events.PrologBegan) -> Run:
    return replace(
        run,
        groups=event.groups or run.groups,
        spec=event.spec or run.spec,
        reporting=event.reporting or run.reporting,
        no_report=event.no_report,
        rules=run.rules if run.rules.timing else event.rules,
        clock_offset=run.clock_offset or event.clock_offset,
    )


def _adopted(run: Run, _event: events.Adopted) -> Run:
    """What is known of a run is more than its workload tells."""
    return run


def _node_proven(run: Run, event: events.NodeProven) -> Run:
    return replace(run, node_proven=True, node_gpus=event.gpus, gpu_counts=event.gpu_counts, full_disk=event.full_disk)


def _node_refuted(run: Run, event: events.NodeRefuted) -> Run:
    return judged(run, Judgement(Verdict.NODE, event.sentence, event.fault), event.at)


def _node_accused(run: Run, event: events.NodeAccused) -> Run:
    return replace(run, accusation=run.accusation or Judgement(Verdict.NODE, event.sentence, event.fault))


def _node_looked(run: Run, event: events.NodeLooked) -> Run:
    known, fault = run.node_fault, None
    if event.fault:
        lasting = known is not None and known.name == event.fault
        since = known.since if known is not None and lasting else event.at
        fault = NodeFault(event.fault, since, event.at, event.sentence)
    tries = {**run.tries, "look": 0}
    run = replace(run, looks=run.looks + 1, look_due=None, tries=tries)
    return replace(run, node_fault=fault, batch_lost=event.batch_lost)


def _node_faults_counted(run: Run, event: events.NodeFaultsCounted) -> Run:
    return replace(run, faulty_others=event.others)


def _job_learned(run: Run, event: events.JobLearned) -> Run:
    run = replace(run, record=event.record)
    over = event.record.restart_count > run.key.restart or states.is_over(event.record.states)
    if not over:
        return run
    if run.unmarked:
        return _ended_unmarked(run, event.at)
    return judged(run, Judgement.of(runs.JOB_OVER.finding(states.why_over(event.record.states))), event.at)


def _ended_unmarked(run: Run, at: float) -> Run:
    """Without its marker no epilog comes to the daemon, so slurmctld's word stands for it."""
    return run if run.phase is not Phase.RUNNING else _epilog_began(run, events.EpilogBegan(at))


def _job_unknown(run: Run, event: events.JobUnknown) -> Run:
    if run.unmarked:
        return _ended_unmarked(run, event.at)
    return judged(run, Judgement.of(servers.JOB_UNKNOWN.finding()), event.at)


def _not_reporting(run: Run, event: events.NotReporting) -> Run:
    return replace(run, reporting=False, no_report=event.sentence)


def _failed(run: Run, event: events.Failed) -> Run:
    tries = {**run.tries, event.what: run.tried(event.what) + 1}
    run = replace(run, tries=tries, trouble=event.sentence, trouble_fault=event.fault)
    if event.what == "report" and tries["report"] >= _EFFORTS:
        run = replace(run, reported=run.sentence)
    if event.what == "cancel" and tries["cancel"] >= _EFFORTS:
        run = replace(run, cancel=Effort.GIVEN_UP)
    if event.what == "extend" and tries["extend"] >= _EFFORTS:
        run = replace(run, extend=Effort.GIVEN_UP)
    if event.what == "drain" and tries["drain"] >= _EFFORTS:
        run = replace(run, drain=Effort.GIVEN_UP)
    if event.what == "resume" and tries["resume"] >= _EFFORTS:
        run = _given_back(run, event.sentence)
    return run


def _refused(run: Run, event: events.Refused) -> Run:
    # After an earlier try without an answer the refusal says nothing about what that one may have made.
    if run.workload is Workload.UNKNOWN and not run.tried("create"):
        run = replace(run, workload=Workload.NONE)
    return judged(run, Judgement(event.verdict, event.sentence, event.fault), event.at)


def _server_down(run: Run, event: events.ServerDown) -> Run:
    return judged(run, Judgement(Verdict.SHARED, event.sentence, event.fault), event.at)


def judged(run: Run, judgement: Judgement, at: float) -> Run:
    """The run with the prolog's verdict; the first one stands, and none falls after the answer."""
    if run.judgement is not None or run.phase is not Phase.PROLOG or run.prolog_answer is not None:
        return run
    return replace(run, judgement=judgement, judged_at=at)


def _workload_created(run: Run, event: events.WorkloadCreated) -> Run:
    return replace(run, workload=Workload.LIVE, workload_uid=event.uid, workload_seen_at=event.at, trouble="")


def _workload_seen(run: Run, event: events.WorkloadSeen) -> Run:
    if run.workload_uid and event.facts.uid != run.workload_uid:
        return run
    state = Workload.DELETING if event.facts.deleting else Workload.LIVE
    return replace(
        run,
        workload=state,
        workload_uid=event.facts.uid,
        workload_failed=event.facts.failed,
        workload_seen_at=event.at if run.workload_seen_at is None else run.workload_seen_at,
    )


def _workload_gone(run: Run, _event: events.WorkloadGone) -> Run:
    return replace(run, workload=Workload.GONE)


def _workload_deleted(run: Run, event: events.WorkloadDeleted) -> Run:
    return replace(run, workload=Workload.DELETING, workload_uid=event.uid, trouble="")


def _pod_seen(run: Run, event: events.PodSeen) -> Run:
    facts = event.facts
    if facts.rank >= len(run.nodes):
        return run
    if _replaces_a_started_pod(run, facts):
        return replace(run, lost=run.lost | {facts.rank})
    own = frozenset({facts.uid}) if facts.rank == run.rank else frozenset[str]()
    known = run.pods.get(facts.rank)
    return replace(
        run,
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
    return known.deleting or not known.over


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


def met_unknown(before: Run | None, after: Run) -> str:
    """The words of what a pod has just shown that no row of the fault table describes, '' where it has not."""
    known = {} if before is None else before.suspicions
    new = (seen for rank, seen in after.suspicions.items() if seen != known.get(rank))
    return next((seen.sentence for seen in new if seen.fault is faults.UNKNOWN), "")


def _pod_gone(run: Run, event: events.PodGone) -> Run:
    known = run.pods.get(event.rank)
    if known is None or known.uid != event.uid:
        return run
    return replace(run, lost=run.lost | {event.rank}, tries={**run.tries, "prove": 0})


def _share_told(run: Run, _event: events.ShareTold) -> Run:
    return replace(run, share_told=True)


def _gate_opened(run: Run, event: events.GateOpened) -> Run:
    return replace(run, opened=event.uid, known_uids=run.known_uids | {event.uid})


def _reported(run: Run, event: events.Reported) -> Run:
    return replace(run, reported=event.sentence, trouble=event.given_up or run.trouble)


def _cancelled(run: Run, event: events.Cancelled) -> Run:
    return replace(run, cancel=Effort.GIVEN_UP if event.given_up else Effort.DONE)


def _attached(run: Run, _event: events.Attached) -> Run:
    return replace(run, attached=True)


def _epilog_began(run: Run, event: events.EpilogBegan) -> Run:
    the_same_hook = run.phase is Phase.RELEASE and run.epilog_answer is None and run.epilog_began == event.at
    if run.phase is Phase.RELEASED or the_same_hook:
        return run
    # Who asks again after a no does not wait for the pause that the last failure earned.
    tries = run.tries if run.epilog_answer is None else {}
    return replace(
        run,
        phase=Phase.RELEASE,
        pods_clear=run.pods_clear or run.created_nothing,
        epilog_began=event.at,
        epilog_answer=None,
        leftovers=(),
        trouble="",
        tries=tries,
        clock_offset=event.clock_offset or run.clock_offset,
    )


def _pods_clear(run: Run, event: events.PodsClear) -> Run:
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


def _extended(run: Run, event: events.Extended) -> Run:
    return replace(run, extend=Effort.GIVEN_UP if event.given_up else Effort.DONE)


def _drained(run: Run, event: events.Drained) -> Run:
    return replace(run, drain=Effort.GIVEN_UP if event.given_up else Effort.DONE)


def _resumed(run: Run, event: events.Resumed) -> Run:
    return _given_back(run, event.given_up)


def _given_back(run: Run, fault: str) -> Run:
    """Proven gone, and our drain is lifted, or cannot be: the proof does not wait for slurmctld any longer."""
    if run.resume is not Effort.WANTED:
        return run
    return replace(run, phase=Phase.RELEASED, resume=Effort.GIVEN_UP if fault else Effort.DONE, trouble=fault)


def _hook_left(run: Run, event: events.HookLeft) -> Run:
    return judged(run, Judgement.of(runs.HOOK_LEFT.finding()), event.at)


def _ticked(run: Run, _event: events.Ticked) -> Run:
    return run


_TABLE: dict[type[Any], Callable[[Run, Any], Run]] = {
    events.PrologBegan: _prolog_began,
    events.Adopted: _adopted,
    events.NodeProven: _node_proven,
    events.NodeRefuted: _node_refuted,
    events.NodeAccused: _node_accused,
    events.NodeLooked: _node_looked,
    events.NodeFaultsCounted: _node_faults_counted,
    events.JobLearned: _job_learned,
    events.JobUnknown: _job_unknown,
    events.NotReporting: _not_reporting,
    events.Failed: _failed,
    events.Refused: _refused,
    events.ServerDown: _server_down,
    events.WorkloadCreated: _workload_created,
    events.WorkloadSeen: _workload_seen,
    events.WorkloadGone: _workload_gone,
    events.WorkloadDeleted: _workload_deleted,
    events.PodSeen: _pod_seen,
    events.PodTold: _pod_told,
    events.PodGone: _pod_gone,
    events.GateOpened: _gate_opened,
    events.ShareTold: _share_told,
    events.Reported: _reported,
    events.Cancelled: _cancelled,
    events.Extended: _extended,
    events.Drained: _drained,
    events.Resumed: _resumed,
    events.Attached: _attached,
    events.EpilogBegan: _epilog_began,
    events.PodsClear: _pods_clear,
    events.PodsRemain: _pods_remain,
    events.Scanned: _scanned,
    events.HookLeft: _hook_left,
    events.Ticked: _ticked,
}
