"""Which runs are over although no epilog has told: the decision, without I/O and without a clock.

An epilog whose hook was killed is run by nobody again: slurmd drains its node, a person gives it back, and the run
would stand in the journal, with its pods and its marker, until the node boots. A run with GPUs is ended by the next
prolog that is given them (`door`); on a node whose jobs have none, nothing else tells.

Only a run whose job should be over long since is looked at: time limits may be lengthened, so a limit alone proves
nothing. slurmctld's word does, for which the owner's token may ask, too, while it lives; and without a word, that
nothing of the run is left in Kubernetes: to end such a run takes nothing from anybody. The same holds for a run whose
journal was lost besides, and that left its marker.
"""

from bridge.config import Config
from bridge.engine import orphans
from bridge.engine.orphans import JobWord, Seen
from bridge.engine.state import Phase, Run
from bridge.job.ids import RunKey, workload_name
from bridge.messages import workloads as messages
from bridge.store.markers import Marker


def is_overdue(config: Config, run: Run, at: float) -> bool:
    """Whether the job's time was over so long ago (boot clock) that no prolog of it can wait on any node: until then
    its workload may still be made. Of a job without a limit, or of a Slurm before 23.02, nobody knows."""
    if run.phase is not Phase.RUNNING or run.allocation is None or not run.allocation.end_time:
        return False
    limit = run.allocation.end_time - run.allocation.start_time
    return at > run.began + limit + config.timing.prolog_deadline


def is_marker_overdue(config: Config, marker: Marker, calendar: float) -> bool:
    """The same of a run of which the marker alone is left; ``calendar`` in seconds since the epoch, for nothing else
    tells how old it is."""
    return bool(marker.end) and calendar > marker.end + config.timing.prolog_deadline


def proof(config: Config, ended: Seen, word: JobWord | None, *, is_gone: bool) -> str:
    """Why an overdue run is over; '' without proof. ``word`` is slurmctld's, None where it may not be asked;
    ``is_gone``: whether Kubernetes has neither its workload nor a pod of it on this node."""
    if word is not None and word.unknown:
        return messages.ORPHAN_FORGOTTEN.cause
    if word is not None and word.record is not None:
        why = orphans.why_over(config, ended, word.record)
        return messages.ORPHAN_OVER.cause.format(why=why) if why else ""
    return messages.NOTHING_LEFT if is_gone else ""


def of_run(run: Run) -> Seen:
    """What a run's workload would say of it."""
    start = 0 if run.allocation is None else run.allocation.start_time
    return Seen(run.name, run.workload_uid, run.key, start, run.nodes, deleting=False, namespace=run.rules.namespace)


def of_marker(config: Config, job_id: int, marker: Marker, node: str) -> Seen:
    """The same of a marker on this node: which others the run had it does not say."""
    key, namespace = key_of(config, job_id, marker), config.kubernetes.namespace
    name = workload_name(config.cluster.tag, key)
    return Seen(name, "", key, marker.start, (node,), deleting=False, namespace=namespace)


def key_of(config: Config, job_id: int, marker: Marker) -> RunKey:
    """The run that a marker names."""
    return RunKey(config.cluster.name, job_id, marker.restart)
