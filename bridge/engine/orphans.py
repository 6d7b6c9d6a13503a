"""Which workloads have outlived their run: the decision, without I/O and without a clock.

A workload is deleted here only by proof that its run is over, never for want of a sign of life: a journal may have been
wiped, or be the copy of last week. What proves it, in this order: this node's journal says that this very run was
released; this node knows a later run of the same job; slurmctld says so. Without proof it is left to a person, with
the command.

Of the released runs the journal keeps the last ones only (`ledger.KEPT_RUNS`). An orphan that is found after as
many later runs have been released here has lost the first proof, and needs one of the others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from bridge import wellknown
from bridge.config import Config
from bridge.engine.state import Phase, Run
from bridge.errors import AllocationError
from bridge.job.ids import RunKey, workload_name
from bridge.messages import Message
from bridge.messages import workloads as messages
from bridge.slurm import states
from bridge.slurm.hostlist import expand
from bridge.slurmrest.api import JobRecord

Runs = Mapping[RunKey, Run]

_NUMBERS = re.compile(r"-([0-9]{1,10})-([0-9]{1,10})")  # job id and restart count, behind `slurm-TAG`
_START = re.compile(r"[0-9]{1,12}")


class State(Enum):
    """What a workload is, seen from its batch node."""

    LIVE = "live"
    DELETING = "deleting"  # somebody has deleted it, and its pods are still going
    ORPHAN = "orphan"  # its run is over, by proof
    UNCONFIRMED = "unconfirmed"  # nobody here knows its run


@dataclass(frozen=True)
class Seen:
    """A workload of this site's tag as the API server shows it.

    ``key`` is None where name and labels do not fit each other: the bridge made no such object. ``start`` is when its
    run started in epoch seconds, 0 where that is not known: Slurm before 23.02 does not tell it.
    """

    name: str
    uid: str
    key: RunKey | None
    start: int
    nodes: tuple[str, ...]
    deleting: bool
    namespace: str


@dataclass(frozen=True)
class Finding:
    """A workload, what it is, and why: the cause of the message of this name."""

    seen: Seen
    state: State
    why: str
    message: str = ""


@dataclass(frozen=True)
class JobWord:
    """slurmctld's word on a job: its record, or that there is no such job, or the sentence why there is no word."""

    record: JobRecord | None = None
    unknown: bool = False
    fault: str = ""


def seen(config: Config, workload: Mapping[str, Any]) -> Seen:
    """What the metadata of a workload says."""
    meta = workload.get("metadata") or {}
    annotations = meta.get("annotations") or {}
    name, start = str(meta.get("name") or ""), str(annotations.get(wellknown.ANNOTATION_START) or "")
    nodes = str(annotations.get(wellknown.ANNOTATION_NODES) or "")
    return Seen(
        name=name,
        uid=str(meta.get("uid") or ""),
        key=_key(config, name, meta.get("labels") or {}),
        start=int(start) if _START.fullmatch(start) else 0,
        nodes=tuple(nodes.split(",")) if nodes else (),
        deleting=bool(meta.get("deletionTimestamp")),
        namespace=str(meta.get("namespace") or config.kubernetes.namespace),
    )


def _key(config: Config, name: str, labels: Mapping[str, Any]) -> RunKey | None:
    numbers = _NUMBERS.fullmatch(name.removeprefix(f"slurm-{config.cluster.tag}"))
    if numbers is None:
        return None
    key = RunKey(config.cluster.name, int(numbers[1]), int(numbers[2]))
    fits = workload_name(config.cluster.tag, key) == name
    told = (labels.get(wellknown.LABEL_TAG), labels.get(wellknown.LABEL_JOB), labels.get(wellknown.LABEL_RUN))
    return key if fits and told == (config.cluster.tag, str(key.job_id), name) else None


def here(workload: Seen, runs: Runs) -> Finding | None:
    """What this node knows about a workload by itself; None where only slurmctld may know more."""
    key = workload.key
    of_job = [] if key is None else [run for run in runs.values() if run.key.job_id == key.job_id]
    if any(_may_be_live(run, workload) for run in of_job):
        return _found(workload, State.LIVE, messages.LIVE_HERE)
    if workload.deleting:
        return _found(workload, State.DELETING, messages.BEING_DELETED)
    if key is None:
        return _found(workload, State.UNCONFIRMED, messages.STRANGER)
    if any(_is_run_of(run, workload) for run in of_job):
        return _found(workload, State.ORPHAN, messages.ORPHAN_RELEASED)
    later = next((run for run in of_job if _is_later(run, workload)), None)
    if later is not None:
        return _found(workload, State.ORPHAN, messages.ORPHAN_OLDER, later=later.name)
    return None


def by_word(config: Config, workload: Seen, word: JobWord | None) -> Finding:
    """What slurmctld's word says about a workload of which this node knows nothing; None: it may not be asked."""
    if word is None:
        return _found(workload, State.UNCONFIRMED, messages.UNASKED)
    if word.unknown:
        return _found(workload, State.ORPHAN, messages.ORPHAN_FORGOTTEN)
    if word.record is None:
        return _found(workload, State.UNCONFIRMED, messages.UNANSWERED, why=word.fault)
    over = why_over(config, workload, word.record)
    if over:
        return _found(workload, State.ORPHAN, messages.ORPHAN_OVER, why=over)
    if workload.start and workload.start != word.record.start_time:
        return _found(workload, State.UNCONFIRMED, messages.ANOTHER_START)
    return _found(workload, State.LIVE, messages.LIVE_IN_SLURM)


def _found(workload: Seen, state: State, message: Message, **words: object) -> Finding:
    return Finding(workload, state, message.cause.format(**words), message.name)


def cure(workload: Seen) -> str:
    """What a person does about a workload that nobody here knows, with the commands."""
    delete = f"kubectl -n {workload.namespace} delete pytorchjob {workload.name} --cascade=foreground"
    if workload.key is None:
        return messages.STRANGER.cure.format(delete=delete)
    began = f" StartTime={datetime.fromtimestamp(workload.start).isoformat()}" if workload.start else ""
    run = f"Restarts={workload.key.restart}{began}"
    return messages.UNASKED.cure.format(job=workload.key.job_id, run=run, delete=delete)


def _may_be_live(run: Run, workload: Seen) -> bool:
    """A bare epilog says only whose job it ends: while it is at work, every workload of that job is its own."""
    if run.phase is Phase.RELEASED:
        return False
    if run.allocation is None:
        return True
    unlike = 0 not in (run.allocation.start_time, workload.start) and run.allocation.start_time != workload.start
    return run.key == workload.key and not unlike


def _is_run_of(run: Run, workload: Seen) -> bool:
    """The very run: job ids come back, and only the start tells such runs apart."""
    started = 0 if run.allocation is None else run.allocation.start_time
    return run.key == workload.key and started == workload.start != 0


def _is_later(run: Run, workload: Seen) -> bool:
    """By both numbers, since each of them can deceive: restart counts begin anew with a job id that came back, and
    starts are the time of day of slurmctld's clock, which may have been set back."""
    if run.allocation is None or workload.key is None or not workload.start:
        return False
    restart, start = run.key.restart - workload.key.restart, run.allocation.start_time - workload.start
    return min(restart, start) >= 0 and max(restart, start) > 0


def why_over(config: Config, workload: Seen, record: JobRecord) -> str:
    """What slurmctld's record of its job says against this run going on; '' where it does not."""
    assert workload.key is not None
    if record.restart_count != workload.key.restart:
        return messages.STARTED_ANEW.format(restarts=record.restart_count)
    if states.is_over(record.states):
        return messages.JOB_IS_OVER.format(why=states.why_over(record.states))
    if workload.start not in (0, record.start_time) and _is_elsewhere(config, workload, record):
        return messages.ELSEWHERE
    return ""


def _is_elsewhere(config: Config, workload: Seen, record: JobRecord) -> bool:
    """Whether the job has nodes, and not the workload's batch node. Another start alone is no proof: slurmctld sets it
    anew when it has powered up the nodes for a job."""
    try:
        nodes = [config.cluster.kubernetes_node(node) for node in expand(record.nodes)]
    except AllocationError:
        return False
    return bool(nodes) and workload.nodes[0] not in nodes
