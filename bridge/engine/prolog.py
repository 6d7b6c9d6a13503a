"""The prolog's wait on this node: from the hook's question to its answer.

A ladder of guards; each ends in a verdict, an answer, or in going on waiting. Only the batch node judges
`job`, `shared` and `gone`; every node judges `node` about itself alone.
"""

from bridge.config import Config
from bridge.engine import crowd, drain, left, own_node, progress
from bridge.engine.ending import Ending, ending_of, requeue_of, told
from bridge.engine.placing import rendered
from bridge.engine.replacing import replace
from bridge.engine.reporting import saying
from bridge.engine.state import Answer, Effort, Judgement, Phase, Run, Suspicion, Workload
from bridge.errors import AllocationError, BridgeError, GpusUnnamed
from bridge.job.faults import Fault, Finding, Verdict, row, runs
from bridge.job.faults.images import IMAGE_FORBIDDEN, IMAGE_MISSING
from bridge.job.faults.pods import NOT_STARTED
from bridge.slurm.comment import spec_path

SETTLE_LIMIT = 20.0  # seconds for telling and cancelling, after which the prolog goes on without
_LEARN_TRIES = 3  # failed questions to slurmctld before a spec is judged without its answer


def advance(config: Config, run: Run, at: float) -> Run:
    """The run led on as far as what is known carries."""
    if run.prolog_answer is not None:
        return run
    if not run.is_batch:
        return _advance_member(config, run, at)
    return _advance_batch(config, run, at)


# -- every node but the batch node


def _advance_member(config: Config, run: Run, at: float) -> Run:
    if run.judgement is None:
        run = own_node.advance(config, run, at)
    if run.judgement is not None:
        return _settle_member(config, run, at)
    return _answer(run, Answer(0)) if _member_is_done(config, run, at) else run


def _settle_member(config: Config, run: Run, at: float) -> Run:
    assert run.judgement is not None and run.judged_at is not None
    sentence, judged_at = run.judgement.sentence, run.judged_at
    if left.is_left(run):
        return run
    if run.judgement.verdict is not Verdict.NODE:
        return _answer(run, Answer(0, sentence))
    run = drain.with_reason(config, run, sentence, until_released=False)
    return _answer(run, Answer(1, sentence)) if drain.is_settled(run, judged_at, at) else run


def _member_is_done(config: Config, run: Run, at: float) -> bool:
    """Started here, taken back, never come, too late, or nobody left who would take it back: none of it is this
    node's fault. One that is accused waits for its verdict first: who is let through is asked no more, and its gate
    would stay closed to a pod that comes later."""
    pod = run.own_pod
    started = pod is not None and pod.started
    deleting = run.workload in (Workload.DELETING, Workload.GONE) or (pod is not None and pod.deleting)
    # While nobody told this node of it the training has failed, and the operator has taken its pod away.
    come_and_gone = run.workload_failed and pod is None
    taken_back = deleting or come_and_gone or run.rank in run.lost
    unseen = run.workload_seen_at is None and pod is None
    never_came = unseen and at >= run.began + config.timing.member_patience + crowd.queue(run)
    is_gone = (taken_back or never_came) and not own_node.is_being_judged(run)
    return started or is_gone or run.batch_lost or at >= run.began + config.timing.prolog_deadline


# -- the batch node


def _advance_batch(config: Config, run: Run, at: float) -> Run:
    if run.judgement is None:
        run = own_node.advance(config, run, at)
    if run.judgement is None:
        run = _judge(config, run, at)
    if run.judgement is None and not run.manifest:
        run = _render(config, run, at)
    if run.judgement is not None:
        return _settle(config, run, at)
    if _has_started(config, run):
        return _ready(config, run, at)
    return progress.advance(config, run, at)


def _judge(config: Config, run: Run, at: float) -> Run:
    judgement = _judgement(config, run, at)
    if judgement is None:
        return run
    return replace(run, judgement=judgement, judged_at=at)


def _judgement(config: Config, run: Run, at: float) -> Judgement | None:
    # The last pod may be seen before the clock wakes the run: then there is nothing left to wait for.
    if at >= last_moment(config, run) and not _has_started(config, run):
        found = _what_it_waited_for(run)
        waited = f"not started after {_span(at - run.began)}: "
        return Judgement(Verdict.SHARED, waited + found.sentence, found.fault.name)
    if _must_learn_first(run):
        return None
    if refused := _refusal(run):
        return Judgement.of(refused)
    if run.workload in (Workload.DELETING, Workload.GONE):
        return Judgement.of(runs.WORKLOAD_DELETED.finding("while its pods started"))
    return _judge_suspicions(config, run, at)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def last_moment(config: Config, run: Run) -> float:
    """When the batch node stops waiting: what must be told and cancelled then still fits into the deadline."""
    return run.began + max(config.timing.prolog_deadline - SETTLE_LIMIT, config.timing.prolog_deadline / 2)


def _must_learn_first(run: Run) -> bool:
    """slurmctld's answer names the output file, so it is waited for before anything is refused."""
    return run.reporting and run.record is None and run.tried("learn") < _LEARN_TRIES


def _refusal(run: Run) -> Finding | None:
    assert run.allocation is not None
    if run.allocation.het_job_id is not None:
        return runs.HET_JOB.finding()
    try:
        spec_path(run.allocation.extra, run.allocation.comment)
    except AllocationError as error:
        return runs.SPEC_WORD.finding(str(error))
    if run.spec is not None and run.spec.error:
        return runs.SPEC_UNREADABLE.finding(run.spec.error)
    if run.record is not None and not run.record.batch:
        return runs.SALLOC.finding()
    return None


def _judge_suspicions(config: Config, run: Run, at: float) -> Judgement | None:
    """While a pod has not started, the verdict comes from that pod, not from one that failed waiting for it."""
    for rank, suspicion in sorted(run.suspicions.items()):
        if _is_started(run, rank) or not _believed(config, suspicion, at):
            continue
        if suspicion.fault.verdict is Verdict.NODE:
            continue  # each node judges itself
        return Judgement(_verdict(run, suspicion), suspicion.sentence, suspicion.fault.name)
    return None


def _verdict(run: Run, suspicion: Suspicion) -> Verdict:
    """All ranks have one image: what the registry refuses to one node and has given to another is not the user's."""
    refused = suspicion.fault in (IMAGE_MISSING, IMAGE_FORBIDDEN)
    given = any(pod.started for pod in run.pods.values())
    return Verdict.SHARED if refused and given else suspicion.fault.verdict


def believed_at(config: Config, suspicion: Suspicion) -> float | None:
    """When this observation has lasted long enough; None when only the deadline ends the wait."""
    fault = suspicion.fault
    patience = getattr(config.timing, fault.timing) if fault.timing else fault.patience
    return None if patience is None else suspicion.since + patience


def _believed(config: Config, suspicion: Suspicion, at: float) -> bool:
    due = believed_at(config, suspicion)
    return due is not None and at >= due


def _is_started(run: Run, rank: int) -> bool:
    pod = run.pods.get(rank)
    return pod is not None and pod.started


def _what_it_waited_for(run: Run) -> Finding:
    if run.accusation is not None:
        return Finding(row(run.accusation.fault), own_node.why_in_service(run))
    missing = [rank for rank in range(len(run.nodes)) if not _is_started(run, rank)]
    for rank in missing:
        if rank in run.suspicions:
            return Finding(run.suspicions[rank].fault, run.suspicions[rank].sentence, rank)
    if run.workload is not Workload.LIVE:
        return Finding(row(run.trouble_fault), run.trouble) if run.trouble else runs.DEADLINE.finding()
    if not run.pods:
        return runs.OPERATOR_SILENT.finding("no pod")
    return NOT_STARTED.finding(run.trouble or "its node gave no reason", missing[0])


def _render(config: Config, run: Run, at: float) -> Run:
    known = run.node_proven and run.spec is not None and (run.record is not None or not run.reporting)
    if not known:
        return run
    run = replace(run, rules=run.rules.of_qos("" if run.record is None else run.record.qos))
    try:
        made = rendered(config, run)
    except BridgeError as error:
        fault = _refused_for(error)
        return replace(run, judgement=Judgement(fault.verdict, str(error), fault.name), judged_at=at)
    except Exception as error:  # noqa: BLE001 - see below
        # The user's bytes may never end the engine, and with it everybody else's jobs on this node.
        found = runs.SPEC_BROKEN.finding(type(error).__name__)
        return replace(run, judgement=Judgement.of(found), judged_at=at)
    return replace(run, manifest=made.manifest, notices=made.notices, workload=Workload.UNKNOWN)


def _refused_for(error: BridgeError) -> Fault:
    match error:
        case GpusUnnamed():
            return runs.GPUS_UNNAMED
        case AllocationError():
            return runs.ALLOCATION_UNFIT
    return runs.SPEC_REFUSED


def _has_started(config: Config, run: Run) -> bool:
    if not run.knows_its_workload:
        return False  # these may be pods without a gate, which start wherever they like
    if all(_is_started(run, rank) for rank in range(len(run.nodes))):
        return True
    return _is_over_early(config, run)


def _is_over_early(config: Config, run: Run) -> bool:
    """A rank failed by itself and the operator took the others back before they had started. It may have failed for
    want of one of these: what will be believed of that one is told instead. What is never believed, and what its node
    judges itself, keeps nobody here: the script begins after all prologs."""
    failed = any(pod.ended is not None and pod.ended.exit_code != 0 for pod in run.pods.values() if pod.started)
    waiting = [rank for rank in range(len(run.nodes)) if not _is_started(run, rank)]
    suspicions = [run.suspicions[rank] for rank in waiting if rank in run.suspicions]
    is_to_be_told = any(
        believed_at(config, each) is not None and each.fault.verdict is not Verdict.NODE for each in suspicions
    )
    return failed and run.workload_failed and not is_to_be_told


def _ready(config: Config, run: Run, at: float) -> Run:
    count, where = len(run.nodes), _where(run)
    sentence = f"{count}/{count} pods ready on {where} after {at - run.began:.1f} s"
    run = saying(replace(run, ready_at=at), sentence)
    if config.slurmrest is not None and config.slurmrest.extend_time_limit and _is_limited(run):
        run = replace(run, extend=Effort.WANTED)
    return _answer(run, Answer(0))


def _is_limited(run: Run) -> bool:
    limited = run.record is not None and run.record.time_limit_minutes is not None
    return limited and minutes_waited(run) > 0


def minutes_waited(run: Run) -> int:
    """How long the prolog of a run that became ready took, in the whole minutes that Slurm counts; half ones up."""
    return 0 if run.ready_at is None else int((run.ready_at - run.began) / 60 + 0.5)


def _where(run: Run) -> str:
    if run.record is not None and run.record.nodes:
        return run.record.nodes
    assert run.allocation is not None
    return ",".join(run.allocation.nodes)


def _settle(config: Config, run: Run, at: float) -> Run:
    """Tell and cancel first, then answer: once a prolog has ended well, the script would start."""
    assert run.judgement is not None and run.judged_at is not None
    verdict, sentence, judged_at = run.judgement.verdict, run.judgement.sentence, run.judged_at
    if left.is_left(run):
        return run
    if verdict is Verdict.GONE:
        return _answer(run, Answer(0, sentence))
    ending = ending_of(config, run)
    run = saying(run, told(run, ending))
    if ending is Ending.CANCELLED and run.cancel is Effort.NOT_WANTED:
        run = replace(run, cancel=Effort.WANTED)
    if verdict is Verdict.NODE:
        run = drain.with_reason(config, run, sentence, until_released=False)
    if not (_is_settled(run) or at >= judged_at + SETTLE_LIMIT) or not drain.is_settled(run, judged_at, at):
        return run
    if verdict is Verdict.NODE:
        return _answer(run, Answer(1, sentence))
    requeue = requeue_of(run, ending)
    ends = requeue is not None or run.cancel is Effort.DONE
    output = run.record.stdout if run.record is not None and ends else None
    return _answer(run, Answer(0, sentence, output, requeue))


def _is_settled(run: Run) -> bool:
    if not run.reporting:
        return True
    return run.reported == run.sentence and run.cancel is not Effort.WANTED


def _answer(run: Run, answer: Answer) -> Run:
    return replace(run, prolog_answer=answer, phase=Phase.RUNNING)
