"""What the job's comment is to say of a run, and how long that is tried."""

from bridge.engine.replacing import replace
from bridge.engine.state import Phase, Run

_EFFORTS = 5  # tries while a prolog waits for it


def saying(run: Run, sentence: str) -> Run:
    """The run with what its job's comment shall say from now on; no earlier failure delays the telling."""
    return run if sentence == run.sentence else replace(run, sentence=sentence, tries={**run.tries, "report": 0})


def untold(run: Run, why: str) -> Run:
    """The run after a try that failed. A prolog waits for a few; while the job runs there is no end to them, since a
    comment is all that somebody sees who was not there, and slurmctld takes none of a job that is over (24.11)."""
    is_given_up = run.phase is Phase.PROLOG and run.tried("report") >= _EFFORTS
    return replace(run, reported=run.sentence if is_given_up else run.reported, untold=why)
