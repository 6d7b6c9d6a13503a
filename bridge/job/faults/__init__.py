"""The fault table: every observation that can end or hold up a run, who is to blame, and what is told.

`TABLE` has all rows. They live beside the function that finds them: `images`, `containers`, `pods` and `pod_events` of
a pod, `nodes` of this node, `admission` of a refusal, `servers` of an error, `runs` of what the engine itself sees.
"""

from bridge.errors import Observed
from bridge.job.faults import admission, containers, images, nodes, pod_events, pods, runs, servers
from bridge.job.faults.pods import finding
from bridge.job.faults.row import UNKNOWN, Fault, Finding, Moment, Subject, Verdict

TABLE: tuple[Fault, ...] = (
    *runs.ROWS,
    *nodes.ROWS,
    *images.ROWS,
    *containers.ROWS,
    *pods.ROWS,
    *pod_events.ROWS,
    *admission.ROWS,
    *servers.ROWS,
    UNKNOWN,
)

_BY_NAME = {fault.name: fault for fault in TABLE}


def row(name: str) -> Fault:
    """The row of this name; UNKNOWN for one that this version does not have: a journal may be of another."""
    return _BY_NAME.get(name, UNKNOWN)


def observed(found: Finding) -> Observed:
    """The error by which an activity says that it met this row, and wants to be tried again."""
    return Observed(found.sentence, found.fault.name)


__all__ = ["TABLE", "UNKNOWN", "Fault", "Finding", "Moment", "Subject", "Verdict", "finding", "observed", "row"]
