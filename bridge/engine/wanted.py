"""Which work a run wants done right now: a function of the run alone.

Read top to bottom it is the way of a job. Because nothing else decides, a daemon that was killed between
any two lines takes up exactly this set when it has replayed its journal.
"""

import json
from collections.abc import Iterator

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import drain, own_node, progress
from bridge.engine.activities import Activity
from bridge.engine.prolog import SETTLE_LIMIT, believed_at, last_moment, minutes_waited
from bridge.engine.release import cascade_patience, member_patience
from bridge.engine.release import last_moment as last_release_moment
from bridge.engine.slurm_side import slurm_side
from bridge.engine.state import Effort, Phase, Run, Workload
from bridge.engine.training import FAILURE_GRACE
from bridge.job.gate import opening
from bridge.job.pods import PodFacts

FOLLOWED_RANKS = 16  # up to so many nodes every rank's output is followed, above it rank 0, the failing one, the asked
_EVENTS_AFTER = 2.0  # seconds without a pod after which the workload's events are read
_POD_EVENTS_AFTER = 5.0  # seconds after which those of a pod are read that is bound and says nothing of a fault
_GANG_LOOK, _GANG_LOOKS = 8.0, 10.0  # seconds until another node looks for the workload of a pod that is not there
_LOOKERS = 64  # nodes of a run that look so often; more of them take turns, since all wait while the operator is slow
_PROVE_ANYWAY = 10.0  # seconds after which the pods are listed even though the watch still shows one; later if many
_PROOFS_DOUBLED = 3  # so often the time until the next such list doubles


def wanted(run: Run, at: float) -> frozenset[Activity]:
    """The activities that this run wants at this time."""
    if run.phase is Phase.RELEASED:
        return frozenset()
    if run.phase is Phase.RELEASE:
        return frozenset([*_release(run, at), *_draining(run), *_telling(run)])
    lasting = [*_watches(run, at), *_logs(run), *_unwanted_workload(run), *_draining(run), *_telling(run)]
    return frozenset([*lasting, *_preparing(run, at), *_own_node(run, at), *_slurm(run)])


def next_wake(config: Config, run: Run, at: float) -> float | None:
    """When time alone will change this run or its work; None when it will not."""
    later = [moment for moment in _moments(run.rules.applied(config), run) if moment > at]
    if _lacks_own_pod(run):
        later.append(run.began + _look_moment(run, _looks(run, at)))
    return min(later, default=None)


# -- prolog and running


def _watches(run: Run, at: float) -> Iterator[Activity]:
    if run.unattended is not None or (run.follows and (run.workload_uid or run.attached)):
        yield from _watching(run)
    elif not run.follows and (run.prolog_answer is None or not run.opened):
        yield from _watching_own_pod(run, at)


def _watching(run: Run) -> Iterator[Activity]:
    """The same from prolog to release, since every new watch has the API server tell all that is there again."""
    for namespace in run.rules.homes:
        yield do.WatchWorkload(run.name, namespace)
        yield _pods_of(run, namespace)


def _watching_own_pod(run: Run, at: float) -> Iterator[Activity]:
    """Not the workload, which changes with every pod of the run: each node would be told of all of them. What becomes
    of it shows in our own pod; where that does not come, it is looked for now and then."""
    for namespace in run.rules.homes:
        yield _pods_of(run, namespace)
    if _lacks_own_pod(run) and _looks(run, at):
        yield do.LookForWorkload(run.name, _looks(run, at), run.tried("gang"))


def _pods_of(run: Run, namespace: str) -> Activity:
    return do.WatchPods(run.name, "" if run.follows else run.own_pod_name, namespace)


def _lacks_own_pod(run: Run) -> bool:
    """Whether another node than the batch node waits in its prolog for a pod that it has not seen."""
    return not run.follows and run.prolog_answer is None and run.own_pod is None and run.unattended is None


def _looks(run: Run, at: float) -> int:
    """How often the workload should have been looked for by now."""
    waited = at - run.began
    if waited < _GANG_LOOK:
        return 0
    return 1 + max(0, 1 + int((waited - _look_moment(run, 1)) // _look_period(run)))


def _look_moment(run: Run, number: int) -> float:
    """Seconds from the beginning to this look. The first is everybody's, before `timing.member_patience` is over."""
    if number == 0:
        return _GANG_LOOK
    period = _look_period(run)
    turn = period if len(run.nodes) <= _LOOKERS else period * ((run.rank or 0) + 1) / len(run.nodes)
    return _GANG_LOOK + turn + period * (number - 1)


def _look_period(run: Run) -> float:
    """Seconds between two looks of a node: all nodes of a run together look as often as 64 would."""
    return _GANG_LOOKS * max(1.0, len(run.nodes) / _LOOKERS)


def _preparing(run: Run, at: float) -> Iterator[Activity]:
    if not run.consent:
        return
    if not (run.node_proven or run.accusation):
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
    partial = own_node.partial_share(run)
    if partial and not run.share_told:
        yield do.TellShare(pod.name, pod.uid, partial, run.tried("share"))
    elif not partial:
        patch = json.dumps(opening(pod, run.node), separators=(",", ":"))
        yield do.OpenGate(pod.name, pod.uid, patch, run.tried("gate"))


def _creating(run: Run, at: float) -> Iterator[Activity]:
    if run.reporting and run.allocation is not None:
        if run.record is None:
            yield do.LearnJob(run.allocation.told_job_id, run.tried("learn"))
        else:
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


# -- release


def _release(run: Run, at: float) -> Iterator[Activity]:
    if run.resume is Effort.WANTED:
        yield do.ResumeNode(run.drain_reason, run.tried("resume"))
        return
    if run.allocation is None:
        yield from _sweep(run)
        return
    if not run.pods_clear:
        yield from _watching_the_end(run, at)
        yield from _deleting(run, at)
        yield from _proving(run, at)
    else:
        yield do.ScanNode(tuple(sorted(run.known_uids)), run.tried("scan"))


def _sweep(run: Run) -> Iterator[Activity]:
    if run.pods_clear:
        yield do.ScanNode(tuple(sorted(run.known_uids)), run.tried("scan"))
    else:
        yield do.SweepJob(run.key.job_id, run.tried("prove"))


def _watching_the_end(run: Run, at: float) -> Iterator[Activity]:
    """A node whose pod is still there waits for that. When it is gone, or nobody seems to delete it, the node looks at
    the workload once, and watches it only if nobody has deleted it. Where it follows the run, its watches go on."""
    is_deserted = run.workload is Workload.LIVE and run.workload_shown
    if run.follows or is_deserted or run.workload is Workload.NONE:
        yield from _watching(run)
        return
    for namespace in run.rules.homes:
        yield _pods_of(run, namespace)
    is_there = run.workload in (Workload.LIVE, Workload.UNKNOWN)
    if is_there and (_is_alone(run, at) or not run.own_pod_visible):
        yield do.LookForWorkload(run.name, 0, run.tried("gang"))


def _is_alone(run: Run, at: float) -> bool:
    """Whether this node has left to the batch node for long enough what that should have done."""
    assert run.epilog_began is not None
    return at >= run.epilog_began + member_patience(run)


def _deleting(run: Run, at: float) -> Iterator[Activity]:
    assert run.epilog_began is not None
    is_left = _is_alone(run, at) and (run.follows or run.workload_shown)
    if run.workload in (Workload.LIVE, Workload.UNKNOWN) and (run.is_batch or is_left):
        yield do.DeleteWorkload(run.name, run.workload_uid, run.tried("delete"))
    pod = run.own_pod
    forgotten = at >= run.epilog_began + cascade_patience(run)
    if run.own_pod_visible and pod is not None and not pod.deleting and forgotten:
        yield do.DeletePod(pod.name, pod.uid, run.tried("delete-pod"))


def _proving(run: Run, at: float) -> Iterator[Activity]:
    assert run.epilog_began is not None
    settled = run.workload in (Workload.NONE, Workload.DELETING, Workload.GONE)
    if not settled:
        return
    if not run.own_pod_visible or at >= run.epilog_began + _proof_moment(run):
        pod = "" if run.own_pods_gone else run.own_pod_name
        yield do.ProveGone(run.name, pod, run.node, run.tried("prove"))


def _proof_moment(run: Run) -> float:
    """Seconds from the epilog's beginning to the next look for pods that the watch still shows. It is there for a watch
    that nobody answers any more, which is noticed itself within minutes; a thousand nodes whose pods the kubelets and
    the garbage collector end one after the other are not to ask for them all every few seconds."""
    first, tries = _PROVE_ANYWAY * max(1.0, len(run.nodes) / _LOOKERS), run.tried("prove")
    longest = first * 2.0**_PROOFS_DOUBLED
    return first * 2.0 ** min(tries, _PROOFS_DOUBLED) + longest * max(0, tries - _PROOFS_DOUBLED)


# -- time


def _moments(config: Config, run: Run) -> Iterator[float]:
    if run.phase is Phase.PROLOG:
        yield last_moment(config, run)
        yield run.began + config.timing.prolog_deadline
        yield run.began + config.timing.member_patience
        if run.look_due is not None:
            yield run.look_due
        progress_due = progress.due(config, run) if run.is_batch else None
        if progress_due is not None:
            yield progress_due
        if run.judged_at is not None:
            yield run.judged_at + SETTLE_LIMIT
            yield run.judged_at + drain.PATIENCE
        if run.workload_seen_at is not None:
            yield run.workload_seen_at + _EVENTS_AFTER
            yield run.workload_seen_at + _POD_EVENTS_AFTER
        for suspicion in run.suspicions.values():
            due = believed_at(config, suspicion)
            if due is not None:
                yield due
    if run.phase is Phase.RUNNING and run.failed_at is not None and run.outcome is None:
        yield run.failed_at + FAILURE_GRACE
    if run.phase is Phase.RELEASE and run.epilog_began is not None:
        yield run.epilog_began + member_patience(run)
        yield run.epilog_began + cascade_patience(run)
        yield run.epilog_began + _proof_moment(run)
        yield last_release_moment(config, run)
        yield last_release_moment(config, run) + drain.PATIENCE
