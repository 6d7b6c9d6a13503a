"""A run as `bridgectl show` and `explain` tell it: plain values, in fields that stay."""

import json
from collections.abc import Iterator
from typing import Any

from bridge import clock, wellknown
from bridge.engine import progress
from bridge.engine.release import hindrance, obstacle
from bridge.engine.state import Effort, Phase, Run, Workload
from bridge.slurmrest.api import JobRecord

_NOTICES, _NOTICE_LIMIT = 100, 600  # how many are shown, and characters of one
_PODS_LEFT = 50  # in the file beside the output
_PODS_SHOWN = 500  # of one run; a suspicion may have 1,000 characters


def row(run: Run, at: float) -> dict[str, Any]:
    """One line of `ps`; ``at`` is now, by the boot clock."""
    return {
        "job": run.key.job_id,
        "id": str(run.key.job_id) if run.record is None else run.record.named,
        "restart": run.key.restart,
        "workload": run.name,
        "phase": run.phase.value,
        "rank": run.rank,
        "nodes": list(run.nodes),
        "user": None if run.allocation is None else run.allocation.user,
        "sentence": run.sentence or (run.judgement.sentence if run.judgement else ""),
        "progress": progress.sentence(run, at),
        "obstacle": obstacle(run),
    }


def detail(run: Run, pods: int = _PODS_SHOWN) -> dict[str, Any]:
    """What `show` tells beside it, of so many pods."""
    return {
        "verdict": None if run.judgement is None else run.judgement.verdict.value,
        "reason": None if run.judgement is None else run.judgement.sentence,
        "fault": _fault(run),
        "hindrance": hindrance(run).name if obstacle(run) else None,
        "done": list(_done(run)),
        "workload_state": run.workload.value,
        "workload_uid": run.workload_uid,
        **_pods(run, pods),
        "outcome": None if run.outcome is None else {"exit": run.outcome.exit_code, "reason": run.outcome.reason},
        "notices": notices(run),
        "trouble": run.trouble,
        "stations": {name: round(at, 3) for name, at in run.stations.items()},
        "slurm": None if run.record is None else _slurm(run.record),
        "image": next((pod.image for pod in run.pods.values()), ""),
        "leftovers": list(run.leftovers),
        "pod_uids_here": sorted(run.known_uids),
    }


def timeline(run: Run, written: float) -> dict[str, str] | None:
    """The file that is left for the owner when the run is over, and beside which output; None where no output is known
    (on every node but the batch node, or without a word of slurmctld). ``written``: seconds since the epoch."""
    if not run.is_batch or run.record is None or not run.record.stdout:
        return None
    told = {
        "v": wellknown.TIMELINE_VERSION,
        "written": round(written),
        "run": row(run, clock.now()) | detail(run, _PODS_LEFT),
    }
    return {"output": run.record.stdout, "text": json.dumps(told, indent=1) + "\n"}


def notices(run: Run) -> list[str]:
    """What the bridge changed in the spec, as far as it is told."""
    return [notice[:_NOTICE_LIMIT] for notice in run.notices[:_NOTICES]]


def _pods(run: Run, limit: int) -> dict[str, Any]:
    """The pods of `show`: where there are too many for a frame, those that have not started or did not end well come
    first."""

    def is_well(rank: int) -> bool:
        pod = run.pods[rank]
        return rank not in run.lost and pod.started and (pod.ended is None or pod.ended.exit_code == 0)

    shown = sorted(run.pods, key=lambda rank: (is_well(rank), rank))[:limit]
    return {"pods": {rank: _pod(run, rank) for rank in sorted(shown)}, "pods_left_out": len(run.pods) - len(shown)}


def _fault(run: Run) -> str | None:
    """Name of the row of the fault table that decided about this run."""
    named = run.judgement.fault if run.judgement is not None else run.outcome.fault if run.outcome is not None else ""
    return named or None


def _done(run: Run) -> Iterator[str]:
    """What the bridge did about this run in Slurm and in Kubernetes."""
    if run.untold:
        yield f"not told in the job's comment: {run.untold}"
    elif run.sentence and run.reported == run.sentence:
        yield "told in the job's comment"
    if not run.reporting and run.is_batch:
        yield f"not told to Slurm: {run.no_report or 'slurmrestd is not asked'}"
    if run.cancel in (Effort.DONE, Effort.GIVEN_UP):
        yield "the job was cancelled" if run.cancel is Effort.DONE else "the job could not be cancelled"
    answer = run.prolog_answer
    if answer is not None and answer.requeue is not None:
        yield "the job was put back into the queue" + (" and held" if answer.requeue.hold else "")
    if run.judgement is not None and answer is not None:
        yield f"the prolog on this node ended with {answer.exit}"
    if run.judgement is not None and run.workload in (Workload.DELETING, Workload.GONE):
        yield "what had been made in Kubernetes was deleted"
    if run.phase is Phase.RELEASED:
        yield "this node is proven free of it"


def _slurm(record: JobRecord) -> dict[str, Any]:
    """What slurmctld said of the job; times are seconds since the epoch, 0 where it did not say."""
    return {
        "submitted": record.submit_time,
        "eligible": record.eligible_time,
        "allocated": record.start_time,
        "output": record.stdout,
    }


def _pod(run: Run, rank: int) -> dict[str, Any]:
    pod = run.pods[rank]
    suspicion = run.suspicions.get(rank)
    return {
        "name": pod.name,
        "node": pod.node,
        "phase": "Gone" if rank in run.lost else pod.phase,
        "started": pod.started,
        "exit": None if pod.ended is None else pod.ended.exit_code,
        "suspicion": None if suspicion is None else suspicion.sentence,
        "scheduled_at": pod.scheduled_at,
        "sandbox_at": pod.sandbox_at,
        "started_at": pod.started_at,
        "ready_at": pod.ready_at,
        "finished_at": "" if pod.ended is None else pod.ended.finished_at,
    }
