"""Which work a run wants done right now: a function of the run alone.

Read top to bottom it is the way of a job. Because nothing else decides, a daemon that was killed between
any two lines takes up exactly this set when it has replayed its journal.
"""

import json
from collections.abc import Iterator

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import crowd, drain, own_node, progress, wanted_release
from bridge.engine.activities import Activity
from bridge.engine.prolog import SETTLE_LIMIT, believed_at, last_moment, minutes_waited
from bridge.engine.slurm_side import slurm_side
from bridge.engine.state import Effort, Phase, Run, Workload
from bridge.engine.training import FAILURE_GRACE
from bridge.engine.watched import next_look, watches
from bridge.job.gate import opening
from bridge.job.pods import PodFacts

FOLLOWED_RANKS = 16  # up to so many nodes every rank's output is followed, above it rank 0, the failing one, the asked
_EVENTS_AFTER = 2.0  # seconds without a pod after which the workload's events are read
_POD_EVENTS_AFTER = 5.0  # seconds after which those of a pod are read that is bound and says nothing of a fault


def wanted(run: Run, at: float) -> frozenset[Activity]:
    """The activities that this run wants at this time."""
    if run.phase is Phase.RELEASED:
        return frozenset()
    if run.phase is Phase.RELEASE:
        return frozenset([*wanted_release.releasing(run, at), *_draining(run), *_telling(run)])
    lasting = [*watches(run, at), *_logs(run), *_unwanted_workload(run), *_draining(run), *_telling(run)]
    return frozenset([*lasting, *_preparing(run, at), *_own_node(run, at), *_slurm(run)])


def next_wake(config: Config, run: Run, at: float) -> float | None:
    """When time alone will change this run or its work; None when it will not."""
    return min((moment for moment in _moments(run.rules.applied(config), run, at) if moment > at), default=None)


def _preparing(run: Run, at: float) -> Iterator[Activity]:
    if not run.consent:
        return
    if own_node.is_to_be_proven(run):
        yield do.ProveNode(run.node, run.tried("node"))
    if run.is_batch and run.prolog_answer is None:
        yield from _creating(run, at)
    yield from _opening(run)


def _own_node(run: Run, at: float) -> Iterator[Activity]:
    if run.prolog_answer is not None or run.judgement is not None or run.unattended is not None:
        return
    if run.accusation is not None:
        if run.faulty_others is None:
            yield do.CountNodeFaults(run.node, run.accusation.sentence, run.tried("count"))
    elif run.look_due is not None and at >= run.look_due and not (run.own_pod and run.own_pod.started):
        yield do.LookAtNode(run.node, "" if run.is_batch else run.nodes[0], run.looks, run.tried("look"))


def _opening(run: Run) -> Iterator[Activity]:
    """Our own pod's gate, once. A pod that the operator makes again later stays behind its own."""
    pod = run.own_pod
    if pod is None or pod.gate is None or pod.deleting or not run.own_pod_visible:
        return
    if not run.node_proven or run.opened not in ("", pod.uid):
        return
    shut = own_node.shut(run, pod)
    if shut is not None and not run.share_told:
        yield do.TellShare(pod.name, pod.uid, shut.reason, shut.sentence, run.tried("share"))
    elif shut is None:
        patch = json.dumps(opening(pod, run.node), separators=(",", ":"))
        yield do.OpenGate(pod.name, pod.uid, patch, run.tried("gate"))


def _creating(run: Run, at: float) -> Iterator[Activity]:
    if run.reporting and run.allocation is not None:
        if run.record is None:
            yield do.LearnJob(run.allocation.told_job_id, run.tried("learn"))
        elif run.judgement is None:
            yield do.PollJob(run.allocation.told_job_id)
    if run.manifest and run.workload is Workload.UNKNOWN:
        yield do.CreateWorkload(run.manifest, run.tried("create"))
    if _has_no_pods(run, at):
        yield do.ReadRefusals(run.workload_uid, run.tried("events"))
    silent = _silent_pod(run, at)
    if silent is not None:
        yield do.FollowEvents(silent.rank, silent.uid)


def _silent_pod(run: Run, at: float) -> PodFacts | None:
    """The first pod that is bound or still gated, has not started, and whose status does not say why: one is enough."""
    if run.workload_seen_at is None or at < run.workload_seen_at + _POD_EVENTS_AFTER:
        return None
    waiting = (pod for rank, pod in sorted(run.pods.items()) if not pod.started and rank not in run.lost)
    silent = (pod for pod in waiting if not pod.waiting and pod.phase == "Pending")
    return next((pod for pod in silent if pod.node or pod.gate is not None), None)


def _has_no_pods(run: Run, at: float) -> bool:
    incomplete = run.workload is Workload.LIVE and len(run.pods) < len(run.nodes)
    return incomplete and run.workload_seen_at is not None and at >= run.workload_seen_at + _EVENTS_AFTER


def _logs(run: Run) -> Iterator[Activity]:
    if not run.follows or run.judgement is not None:
        return
    for rank, pod in run.pods.items():
        if (pod.running or pod.over) and _is_followed(run, rank):
            yield do.FollowLog(rank, pod.name, pod.uid)


def _is_followed(run: Run, rank: int) -> bool:
    failing = run.outcome is not None and run.outcome.rank == rank
    return len(run.nodes) <= FOLLOWED_RANKS or rank == 0 or failing or rank in run.asked_ranks


def _slurm(run: Run) -> Iterator[Activity]:
    if not run.is_batch or not run.reporting:
        return
    if run.sentence and run.reported != run.sentence:
        yield do.Report(run.sentence, run.tried("report"))
    elif run.cancel is Effort.WANTED:
        yield do.CancelJob(run.tried("cancel"))
    elif run.judgement is None and run.prolog_answer is None and run.progress != run.progress_told:
        yield do.TellProgress(run.progress, run.tried("progress"))
    if run.stop_asked and not run.stop_cause and run.outcome is None and run.allocation is not None:
        yield do.LearnJob(run.allocation.told_job_id, run.tried("learn"))
    if run.unmarked and run.phase is Phase.RUNNING:
        yield do.PollJob(run.key.job_id)
    if run.extend is Effort.WANTED and run.record is not None and run.phase is Phase.RUNNING:
        limit = (run.record.time_limit_minutes or 0) + minutes_waited(run)
        yield do.ExtendLimit(run.record.job_id, limit, run.tried("extend"))


def _draining(run: Run) -> Iterator[Activity]:
    if run.drain is Effort.WANTED:
        yield do.DrainNode(run.drain_reason, run.tried("drain"))


def _telling(run: Run) -> Iterator[Activity]:
    side = slurm_side(run)
    if side is not None:
        yield do.TellSlurmSide(run.workload_uid, side.reason, side.sentence)


def _unwanted_workload(run: Run) -> Iterator[Activity]:
    """A verdict has fallen, or Slurm ends the job: what was created goes at once, the epilog only proves it."""
    judged = run.judgement is not None and run.is_batch
    if not (judged or run.stop_asked):
        return
    if run.workload in (Workload.LIVE, Workload.UNKNOWN):
        yield do.DeleteWorkload(run.name, run.workload_uid, run.tried("delete"))


# -- time


def _moments(config: Config, run: Run, at: float) -> Iterator[float]:
    if run.phase is Phase.PROLOG:
        yield from _prolog_moments(config, run, at)
    if run.phase is Phase.RUNNING and run.failed_at is not None and run.outcome is None:
        yield run.failed_at + FAILURE_GRACE
    if run.phase is Phase.RELEASE:
        yield from wanted_release.moments(config, run)


def _prolog_moments(config: Config, run: Run, at: float) -> Iterator[float]:
    due = [next_look(run, at), run.look_due, progress.due(config, run) if run.is_batch else None]
    due += [believed_at(config, suspicion) for suspicion in run.suspicions.values()]
    yield from (moment for moment in due if moment is not None)
    yield last_moment(config, run)
    yield run.began + config.timing.prolog_deadline
    yield run.began + config.timing.member_patience + crowd.queue(run)
    if run.judged_at is not None:
        yield run.judged_at + SETTLE_LIMIT
        yield run.judged_at + drain.PATIENCE
    if run.workload_seen_at is not None:
        yield run.workload_seen_at + _EVENTS_AFTER
        yield run.workload_seen_at + _POD_EVENTS_AFTER
