"""A prolog whose hook went away without an answer and did not come back in time.

Mostly the hook was killed: slurmd takes the node out of service then, Slurm requeues the job, and an epilog ends the
run. So what was made goes at once, and nobody is told. But a hook may only have stood still, and ask again: slurmd
still waits for it, and the job's script begins where it ends well. So nothing is answered before somebody asks.
"""

from bridge.engine.replacing import replace
from bridge.engine.replies import judged
from bridge.engine.state import Judgement, Phase, Run
from bridge.job.faults import runs


def is_left(run: Run) -> bool:
    """Whether no hook waits for this prolog any more."""
    fault = "" if run.judgement is None else run.judgement.fault
    return run.phase is Phase.PROLOG and fault == runs.HOOK_LEFT.name


def came_back(run: Run, at: float) -> Run:
    """The run when a prolog hook asks for it. Where it was left the batch node has deleted what was made, and a second
    workload would not wait for the end of the first one's processes: the job begins anew. Every other node goes on."""
    if not is_left(run):
        return run
    run = replace(run, judgement=None, judged_at=None)
    return judged(run, Judgement.of(runs.HOOK_AWAY.finding()), at) if run.is_batch else run
