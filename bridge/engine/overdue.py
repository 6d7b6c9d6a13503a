"""Which runs are over although no epilog has told: the decision, without I/O and without a clock.

An epilog whose hook was killed is run by nobody again: slurmd drains its node, a person gives it back, and the run
would stand in the journal, with its pods and its marker, until the node boots. A run with GPUs is ended by the next
prolog that is given them (`door`); on a node whose jobs have none, nothing else tells.

Only a run whose job should be over long since is looked at: time limits may be lengthened, so a limit alone proves
nothing. slurmctld's word does, for which the owner's token may ask, too, while it lives; and without a word, that
nothing of the run is left in Kubernetes: to end such a run takes nothing from anybody. The same holds for a run of
which the journal knows nothing, and that left its marker.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bridge.config import Config
from bridge.engine import events, left, lost, orphans
from bridge.engine.inbox import Happened
from bridge.engine.orphans import JobWord, Runs, Seen
from bridge.engine.state import Mark, Phase, Run
from bridge.job.ids import RunKey, workload_name
from bridge.messages import workloads as messages
from bridge.store.markers import Marker


@dataclass(frozen=True)
class Overdue:
    """A run that should be over long since: as its workload would tell of it, and its end as an epilog would."""

    run: Seen
    end: Happened


def runs(config: Config, known: Runs, at: float) -> Iterator[Overdue]:
    """Those among the runs that the journal knows; ``at`` is the boot clock's time."""
    for run in known.values():
        if is_overdue(config, run, at):
            yield Overdue(_as_told(run), Happened(run.key, events.EpilogBegan(at, awaited=False), run.mark))


def lost_runs(
    config: Config, markers: Mapping[int, Marker | None], known: Runs, node: str, at: float, calendar: float
) -> Iterator[Overdue]:
    """Those of which the journal knows nothing, and a marker on this node is left. ``markers`` are read before
    ``known``: a prolog leaves its own before it asks. ``calendar``, in seconds since the epoch, tells whether their
    time is over, for nothing else does. It may be ahead: the boot clock's ``at`` tells whether a prolog may ask yet."""
    for job_id, marker in markers.items():
        if marker is None or not marker.end or _may_ask_yet(config, marker, at) or lost.is_known(job_id, marker, known):
            continue
        if calendar > marker.end + config.timing.prolog_deadline:
            key = RunKey(config.cluster.name, job_id, marker.restart)
            began = events.EpilogBegan.bare(at, key, marker.start, awaited=False)
            end = Happened(key, began, Mark(job_id, key.restart, marker.start))
            yield Overdue(_as_marked(config, key, marker, node), end)


def _may_ask_yet(config: Config, marker: Marker, at: float) -> bool:
    return marker.began <= at < marker.began + config.timing.prolog_deadline


def is_overdue(config: Config, run: Run, at: float) -> bool:
    """Whether the job's time was over so long ago (boot clock) that no prolog of it can wait on any node: until then
    its workload may still be made. Of a job without a limit, or of a Slurm before 23.02, nobody knows."""
    is_waited_for = run.phase is not Phase.RUNNING and not left.is_left(run)
    if is_waited_for or run.allocation is None or not run.allocation.end_time:
        return False
    limit = run.allocation.end_time - run.allocation.start_time
    return at > run.began + limit + config.timing.prolog_deadline


def proof(config: Config, run: Seen, word: JobWord | None, *, is_gone: bool) -> str:
    """Why an overdue run is over; '' without proof. ``word`` is slurmctld's, None where it may not be asked;
    ``is_gone``: whether Kubernetes has neither its workload nor a pod of it on this node."""
    if word is not None and word.unknown:
        return messages.ORPHAN_FORGOTTEN.cause
    if word is not None and word.record is not None:
        why = orphans.why_over(config, run, word.record)
        return messages.ORPHAN_OVER.cause.format(why=why) if why else ""
    return messages.NOTHING_LEFT if is_gone else ""


def _as_told(run: Run) -> Seen:
    start = 0 if run.allocation is None else run.allocation.start_time
    return Seen(run.name, run.workload_uid, run.key, start, run.nodes, deleting=False, namespace=run.rules.namespace)


def _as_marked(config: Config, key: RunKey, marker: Marker, node: str) -> Seen:
    """Which other nodes the run had its marker does not say."""
    name, namespace = workload_name(config.cluster.tag, key), config.kubernetes.namespace
    return Seen(name, "", key, marker.start, (node,), deleting=False, namespace=namespace)
