"""The epilog on this node: nothing of the run may be alive before it is answered with 0.

Unknown is not gone: while the API server or the scan says nothing, the answer waits; when the deadline
comes first, the answer is 1 and Slurm keeps the node from the next job.
"""

from bridge.config import Config
from bridge.engine import drain
from bridge.engine.replacing import replace
from bridge.engine.state import Answer, Effort, Phase, Run, Workload
from bridge.job.faults import Fault, Verdict
from bridge.job.faults.runs import LEFTOVERS, NOT_SCANNED, PODS_REMAIN
from bridge.messages import bridged as messages


def advance(config: Config, run: Run, at: float) -> Run:
    """The run with the answer to its epilog, once that can be given before the deadline."""
    if run.epilog_answer is not None or run.epilog_began is None or run.resume is Effort.WANTED:
        return run
    deadline = last_moment(config, run)
    if at < deadline:
        return run
    why = _why_not(config, run)
    if run.awaited:
        # Else no hook fails, and the door keeps every job out until the node is proven free: a drain would keep away
        # the hooks that can prove it.
        run = drain.with_reason(config, run, why, until_released=True)
    if not drain.is_settled(run, deadline, at):
        return run
    return replace(run, epilog_answer=Answer(1, why, linger=True))


def last_moment(config: Config, run: Run) -> float:
    """When the epilog ends without proof.

    A node that was at fault is drained already, and its dead kubelet may never let go of the pod: there is nothing
    to win by waiting, while Slurm starts the job nowhere else before all of its epilogs have ended.
    """
    assert run.epilog_began is not None
    return run.epilog_began + _patience(config, run)


def _patience(config: Config, run: Run) -> float:
    drained = run.judgement is not None and run.judgement.verdict is Verdict.NODE
    return config.timing.node_patience if drained else config.timing.epilog_deadline


def epilog_answer(run: Run) -> Answer | None:
    """What the epilog hook is told, or None while it has to wait."""
    return Answer(0) if run.phase is Phase.RELEASED else run.epilog_answer


def obstacle(run: Run) -> str:
    """What keeps this run from being released, for a person; '' while no release is under way."""
    if run.phase is not Phase.RELEASE:
        return ""
    if run.leftovers:
        return "still alive: " + "; ".join(run.leftovers)
    if run.trouble:
        return run.trouble
    if run.pods_clear:
        return messages.UNSCANNED
    return messages.PODS_STAY if _is_deleted(run) else messages.WORKLOAD_STAYS


def _is_deleted(run: Run) -> bool:
    return run.workload in (Workload.NONE, Workload.DELETING, Workload.GONE)


def _why_not(config: Config, run: Run) -> str:
    seconds, cure = f"{_patience(config, run):.0f}", hindrance(run).cure
    return messages.EPILOG_UNPROVEN.sentence(run=run.name, seconds=seconds, obstacle=obstacle(run), cure=cure)


def hindrance(run: Run) -> Fault:
    """The row of what keeps this run from being released."""
    if run.leftovers:
        return LEFTOVERS
    return NOT_SCANNED if run.pods_clear else PODS_REMAIN
