"""What came of the questions to this node and to slurmctld, and what slurmctld was told."""

from bridge.engine import events, own_node, reporting
from bridge.engine.proofs import epilog_began, given_back
from bridge.engine.replacing import replace
from bridge.engine.state import Effort, Handlers, Judgement, NodeFault, Phase, Run, Unattended, Workload
from bridge.job.faults import Verdict, runs, servers
from bridge.slurm import states

_EFFORTS = 5  # tries before the prolog, or the release, goes on without


def _node_proven(run: Run, event: events.NodeProven) -> Run:
    known = replace(run, node_proven=True, node_gpus=event.gpus, gpu_counts=event.gpu_counts, full_disk=event.full_disk)
    return own_node.mended(known)


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
    if run.stop_asked and not run.stop_cause:
        run = replace(run, stop_cause=states.why_over(event.record.states) if over else runs.SIGTERM_ALONE)
    if not over:
        return run
    if run.unmarked:
        return _ended_unmarked(run, event.at)
    return judged(run, Judgement.of(runs.JOB_OVER.finding(states.why_over(event.record.states))), event.at)


def _job_unknown(run: Run, event: events.JobUnknown) -> Run:
    if run.unmarked:
        return _ended_unmarked(run, event.at)
    return judged(run, Judgement.of(servers.JOB_UNKNOWN.finding()), event.at)


def _ended_unmarked(run: Run, at: float) -> Run:
    """Without its marker no epilog comes to the daemon, so slurmctld's word stands for it."""
    return run if run.phase is not Phase.RUNNING else epilog_began(run, events.EpilogBegan(at, awaited=False))


def _not_reporting(run: Run, event: events.NotReporting) -> Run:
    return replace(run, reporting=False, no_report=event.sentence)


def _failed(run: Run, event: events.Failed) -> Run:
    tries = {**run.tries, event.what: run.tried(event.what) + 1}
    run = replace(run, tries=tries, trouble=event.sentence, trouble_fault=event.fault)
    if event.what == "report":
        run = reporting.untold(run, event.sentence)
    if event.what == "cancel" and tries["cancel"] >= _EFFORTS:
        run = replace(run, cancel=Effort.GIVEN_UP)
    if event.what == "extend" and tries["extend"] >= _EFFORTS:
        run = replace(run, extend=Effort.GIVEN_UP)
    if event.what == "drain" and tries["drain"] >= _EFFORTS:
        run = replace(run, drain=Effort.GIVEN_UP)
    if event.what == "resume" and tries["resume"] >= _EFFORTS:
        run = given_back(run, event.sentence)
    return run


def _refused(run: Run, event: events.Refused) -> Run:
    # After an earlier try without an answer the refusal says nothing about what that one may have made.
    if run.workload is Workload.UNKNOWN and not (run.tried("create") or run.may_be_forgotten):
        run = replace(run, workload=Workload.NONE)
    return judged(run, Judgement(event.verdict, event.sentence, event.fault), event.at)


def _server_down(run: Run, event: events.ServerDown) -> Run:
    return judged(run, Judgement(Verdict.SHARED, event.sentence, event.fault), event.at)


def _taken_up(run: Run, _event: events.TakenUp) -> Run:
    waits = run.phase is Phase.PROLOG and run.prolog_answer is None and run.judgement is None
    return replace(run, unattended=Unattended()) if waits else run


def _listed(run: Run, event: events.Listed) -> Run:
    if run.unattended is None:
        return run
    told = (event.what, event.namespace)
    return replace(run, unattended=replace(run.unattended, listed=run.unattended.listed | {told}))


def _hook_left(run: Run, event: events.HookLeft) -> Run:
    if run.unattended is not None:
        return replace(run, unattended=replace(run.unattended, hook_left=True))
    return judged(run, Judgement.of(runs.HOOK_LEFT.finding()), event.at)


def judged(run: Run, judgement: Judgement, at: float) -> Run:
    """The run with the prolog's verdict; the first one stands, and none falls after the answer, nor before it is known
    whether a prolog waits for one."""
    if run.judgement is not None or run.phase is not Phase.PROLOG or run.prolog_answer is not None:
        return run
    if run.unattended is not None:
        return run
    return replace(run, judgement=judgement, judged_at=at)


def _reported(run: Run, event: events.Reported) -> Run:
    return replace(run, reported=event.sentence, untold=event.given_up, trouble=event.given_up or run.trouble)


def _progress_told(run: Run, event: events.ProgressTold) -> Run:
    return replace(run, progress_told=event.sentence)


def _cancelled(run: Run, event: events.Cancelled) -> Run:
    return replace(run, cancel=Effort.GIVEN_UP if event.given_up else Effort.DONE)


def _extended(run: Run, event: events.Extended) -> Run:
    return replace(run, extend=Effort.GIVEN_UP if event.given_up else Effort.DONE)


def _drained(run: Run, event: events.Drained) -> Run:
    return replace(run, drain=Effort.GIVEN_UP if event.given_up else Effort.DONE)


def _attached(run: Run, event: events.Attached) -> Run:
    run = replace(run, attached=True, asked_ranks=run.asked_ranks | set(event.ranks))
    return replace(run, reporting=True, no_report="") if event.reporting else run


def _stop_asked(run: Run, _event: events.StopAsked) -> Run:
    """A training that has ended by itself stays as it was."""
    return replace(run, stop_asked=True) if run.phase is Phase.RUNNING and run.outcome is None else run


HANDLERS: Handlers = {
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
    events.TakenUp: _taken_up,
    events.Listed: _listed,
    events.HookLeft: _hook_left,
    events.Reported: _reported,
    events.ProgressTold: _progress_told,
    events.Cancelled: _cancelled,
    events.Extended: _extended,
    events.Drained: _drained,
    events.Attached: _attached,
    events.StopAsked: _stop_asked,
}
