"""Slurm's side of a run that does not end well, for who looks at its PyTorchJob (`kubectl describe`).

It is told once, by an event, of which nothing depends: no journal has it, and one that is lost is not told again. A run
that ends well has none, since each request counts on an API server that a thousand runs share.
"""

from dataclasses import dataclass

from bridge import wellknown
from bridge.engine.state import Judgement, Outcome, Run
from bridge.engine.training import stopped
from bridge.job.faults import Verdict
from bridge.job.faults.runs import ENDED_BY_SLURM
from bridge.messages.bridged import GAVE_UP


@dataclass(frozen=True)
class SlurmSide:
    """An event's reason, and its sentence."""

    reason: str
    sentence: str


def slurm_side(run: Run) -> SlurmSide | None:
    """What the batch node has to tell; None while there is nothing, or no PyTorchJob that it could be told of."""
    if not run.is_batch or not run.workload_uid:
        return None
    if run.judgement is not None:
        return _of_its_prolog(run, run.judgement)
    if run.outcome is not None:
        return _of_its_training(run.outcome)
    # The PyTorchJob is being deleted: who looks at it shall not have to wait for the last of its pods.
    if run.stop_asked and run.failed_at is None and _is_cause_known(run):
        return _of_its_training(stopped(run))
    return None


def _of_its_prolog(run: Run, judgement: Judgement) -> SlurmSide:
    if judgement.verdict is Verdict.GONE:
        return SlurmSide(wellknown.REASON_STOPPED, judgement.sentence)
    # The job's own sentence, where there is one, also says what became of the job.
    sentence = GAVE_UP.format(verdict=judgement.verdict.value, sentence=run.sentence or judgement.sentence)
    return SlurmSide(wellknown.REASON_GIVEN_UP, sentence)


def _of_its_training(outcome: Outcome) -> SlurmSide | None:
    if outcome.exit_code == 0:
        return None
    was_stopped = outcome.fault == ENDED_BY_SLURM.name
    return SlurmSide(wellknown.REASON_STOPPED if was_stopped else wellknown.REASON_FAILED, outcome.reason)


def _is_cause_known(run: Run) -> bool:
    """Or nobody can be asked. An epilog that comes first gives the run its outcome."""
    return bool(run.stop_cause) or not run.reporting
