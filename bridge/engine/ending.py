"""What becomes of the Slurm job when its prolog's verdict is against it: cancelled, requeued, or held.

A job that its owner must mend is cancelled, or held where the site says so. One that met a fault which all nodes
share goes back into the queue twice, and is held the third time: whoever releases it has seen the reason by then.
How often it was tried stands in its comment, where it survives the requeue; Slurm's restart count does not tell, it
counts preemptions and broken nodes, too.
"""

import re
from enum import Enum

from bridge.config import Config
from bridge.engine.state import Requeue, Run
from bridge.job.faults import Verdict
from bridge.messages.bridged import HELD_UNTIL_MENDED
from bridge.slurm.comment import own_sentence

_TRIES = 3
_TOLD_TRY = re.compile(rf"try ([1-9]) of {_TRIES} failed")


class Ending(Enum):
    """What is done about the job in slurmctld."""

    NONE = "nothing"  # nobody can act for its owner, or Slurm itself does
    CANCELLED = "cancelled"
    REQUEUED = "requeued"
    HELD = "requeued and held"


def ending_of(config: Config, run: Run) -> Ending:
    """What becomes of this run's job, now that a verdict has fallen. A run without a verdict: nothing."""
    if run.judgement is None or not run.reporting:
        return Ending.NONE
    may_requeue = run.record is None or run.record.requeue
    match run.judgement.verdict:
        case Verdict.JOB:
            return Ending.HELD if config.on_job_fault == "hold" and may_requeue else Ending.CANCELLED
        case Verdict.SHARED if may_requeue:
            return Ending.HELD if _try_of(run) >= _TRIES else Ending.REQUEUED
        case Verdict.SHARED:
            return Ending.CANCELLED
    return Ending.NONE


def told(run: Run, ending: Ending) -> str:
    """The sentence for the job's comment: what was done, and why."""
    assert run.judgement is not None
    sentence, verdict = run.judgement.sentence, run.judgement.verdict
    if ending is Ending.CANCELLED or ending is Ending.NONE:
        return f"failed: {sentence}"
    release = f"scontrol release {_name(run)}"
    if verdict is Verdict.JOB:
        return f"held: {sentence}; then: {release}"
    lead = f"try {_try_of(run)} of {_TRIES} failed"
    if ending is Ending.REQUEUED:
        return f"{lead}, requeued: {sentence}"
    return HELD_UNTIL_MENDED.format(lead=lead, sentence=sentence, release=release)


def requeue_of(run: Run, ending: Ending) -> Requeue | None:
    """The order for the hook, which acts as the owner: slurmrestd can requeue only since Slurm 26.05."""
    if ending not in (Ending.REQUEUED, Ending.HELD):
        return None
    # Without slurmctld's answer nobody knows whether the number is that of a whole array: the hook asks.
    return Requeue("" if run.record is None else _name(run), ending is Ending.HELD)


def _try_of(run: Run) -> int:
    """Which try of the job this was, from 1; after a hold that was released it begins anew."""
    if run.record is None:
        return run.key.restart + 1  # slurmrestd does not answer, so no comment ever said which
    earlier = _TOLD_TRY.match(earlier_try(run))
    return 1 if earlier is None else int(earlier[1]) % _TRIES + 1


def earlier_try(run: Run) -> str:
    """What the job's comment said at the beginning of how often it was tried; '' for nothing."""
    found = None if run.record is None else _TOLD_TRY.match(own_sentence(run.record.comment))
    return "" if found is None else found[0]


def _name(run: Run) -> str:
    return str(run.key.job_id) if run.record is None else run.record.named
