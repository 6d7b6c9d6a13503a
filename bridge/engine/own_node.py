"""What a daemon makes of its own node while a prolog waits there: the only place where a verdict drains a node.

A fault must be local, must last, and must be this node's own: when as many other nodes as the site allows have told
of one of theirs a moment ago, it is taken for one that all share, the wait goes on, and no node is drained.
"""

from dataclasses import dataclass

from bridge import wellknown
from bridge.config import Config
from bridge.engine import crowd
from bridge.engine.replacing import replace
from bridge.engine.state import Judgement, Run
from bridge.job.faults import Verdict, nodes, runs
from bridge.job.pods import PodFacts
from bridge.messages import bridged as messages

_CONFIRMATIONS = 3  # further looks at a fault within the time that it has to last
_OVER_BY_PROOF = frozenset(fault.name for fault in (runs.NODE_UNKNOWN, runs.NODE_FOREIGN, nodes.GPUS_GONE))
_LONGEST = 4  # times the patience, between two looks at a node that is well


def advance(config: Config, run: Run, at: float) -> Run:
    """The run with its next look, its accusation, and the verdict `node` once that is sure."""
    if run.look_due is None:
        run = replace(run, look_due=_next_look(config, run, at))
    if run.accusation is None:
        run = replace(run, accusation=_accusation(config, run))
    if run.accusation is None or not _is_alone(config, run):
        return run
    return replace(run, judgement=run.accusation, judged_at=at)


@dataclass(frozen=True)
class Shut:
    """Why a gate stays closed: the reason of the event that tells it, and the sentence."""

    reason: str
    sentence: str


def shut(run: Run, pod: PodFacts) -> Shut | None:
    """Why this pod may not start on this very node, None when it may. The kubelet picks a pod's GPUs: where Slurm gave
    only some of a node's, those may be another job's, and where its prolog was told of none, whoever comes next would
    take the run for one without GPUs. The batch node sees both of itself before it makes the workload; another one,
    which has more GPUs or was told less, sees it of itself alone."""
    given = 0 if run.allocation is None else run.allocation.gpus_here
    if given == 0:
        unnamed = messages.GPUS_UNNAMED.sentence(node=run.node)
        return Shut(wellknown.REASON_UNNAMED, unnamed) if run.gpu_counts.keys() & set(pod.devices) else None
    there = set(run.gpu_counts.values()) or {run.node_gpus}
    if given in there:
        return None
    partial = messages.SHARE_OF_GPUS.sentence(given=given, there=max(there), node=run.node)
    return Shut(wellknown.REASON_SHARE, partial)


def is_to_be_proven(run: Run) -> bool:
    """Whether to ask if Kubernetes means this machine by its name, and has its GPUs. Nobody asks of a node that is
    accused; but what others share may be mended while the wait goes on."""
    is_shared = run.faulty_others is not None and run.judgement is None
    return not run.node_proven and (run.accusation is None or is_shared)


def mended(run: Run) -> Run:
    """The run whose node has just been proven: what it is accused of, with others, may be over by that."""
    if run.accusation is None or run.faulty_others is None or run.accusation.fault not in _OVER_BY_PROOF:
        return run
    return replace(run, accusation=None, faulty_others=None, node_fault=None)


def is_being_judged(run: Run) -> bool:
    """Whether an accusation waits for its verdict: what the fault led to elsewhere may not come before it."""
    return run.accusation is not None and run.faulty_others is None


def why_in_service(run: Run) -> str:
    """The accusation of a node that was not drained for it, and why it was not."""
    assert run.accusation is not None
    sentence = run.accusation.sentence
    if run.faulty_others is None:
        return f"{sentence} ({messages.UNSHARED_UNKNOWN})"
    return f"{sentence} ({messages.SHARED_BY_OTHERS.format(others=run.faulty_others)})"


def _next_look(config: Config, run: Run, at: float) -> float:
    patience = config.timing.node_patience
    if run.looks == 0:
        return run.began + patience + crowd.queue(run) * crowd.turn(run)
    if run.node_fault is not None:
        return at + patience / _CONFIRMATIONS
    return at + patience * min(2.0 ** (run.looks - 1), _LONGEST)


def _accusation(config: Config, run: Run) -> Judgement | None:
    """What this node is accused of: by its kubelet, which refused the pod, or by what was found in looks at it."""
    own = None if run.rank is None else run.suspicions.get(run.rank)
    if own is not None and own.fault.verdict is Verdict.NODE:
        return Judgement(Verdict.NODE, own.sentence, own.fault.name)
    fault = run.node_fault
    if fault is not None and fault.seen >= fault.since + config.timing.node_patience:
        return Judgement(Verdict.NODE, fault.sentence, fault.name)
    return None


def _is_alone(config: Config, run: Run) -> bool:
    """Unknown is not alone: while nobody can be counted, the wait goes on."""
    return run.faulty_others is not None and run.faulty_others < config.node_fault_limit
