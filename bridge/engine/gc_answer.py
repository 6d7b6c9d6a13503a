"""What `bridgectl gc` and `bridgectl status` are told of the reconciler's last look."""

from typing import Any

from bridge.engine.orphans import Finding, State, cure
from bridge.engine.reconciler import Report, Stray


def whole(report: Report, since: float) -> dict[str, Any]:
    """Everything about each workload of this node, and what was deleted since this time (boot clock)."""
    return {
        "kind": "gc",
        "workloads": [_row(report, item) for item in report.findings],
        "more": report.more,
        "deleted": [{"workload": item.name, "why": item.why} for item in report.deleted if item.at >= since],
        "strays": _strays(report.strays),
        "faults": list(report.faults),
    }


def summary(report: Report, for_root: bool, at: float) -> dict[str, Any]:
    """How many of what there were, and for root which; ``at`` is now."""
    names = {state: [item.seen.name for item in report.findings if item.state is state] for state in State}
    counts = {
        "seconds_ago": round(at - report.at, 1) if report.at else None,
        "workloads": len(report.findings) + report.more,
        "orphans": len(names[State.ORPHAN]),
        "unconfirmed": len(names[State.UNCONFIRMED]),
        "strays": len(report.strays),
    }
    if not for_root:
        return counts
    named = {
        "orphans": names[State.ORPHAN],
        "unconfirmed": names[State.UNCONFIRMED],
        "strays": _strays(report.strays),
        "deleted": [
            {"workload": item.name, "why": item.why, "seconds_ago": round(at - item.at, 1)} for item in report.deleted
        ],
        "faults": list(report.faults),
    }
    return counts | {"details": named}


def _row(report: Report, item: Finding) -> dict[str, Any]:
    key, due = item.seen.key, report.due.get(item.seen.uid)
    return {
        "workload": item.seen.name,
        "job": None if key is None else key.job_id,
        "state": item.state.value,
        "why": item.why,
        "message": item.message,
        "deleted_in": None if item.state is not State.ORPHAN or due is None else max(0.0, round(due - report.at, 1)),
        "cure": cure(item.seen) if item.state is State.UNCONFIRMED else None,
    }


def _strays(strays: tuple[Stray, ...]) -> list[dict[str, str]]:
    return [{"pod": stray.pod, "uid": stray.uid, "run": stray.run} for stray in strays]
