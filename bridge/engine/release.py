"""The epilog on this node: nothing of the run may be alive before it is answered with 0.

Unknown is not gone: while the API server or the scan says nothing, the answer waits; when the deadline
comes first, the answer is 1 and Slurm keeps the node from the next job.
"""

from dataclasses import replace

from bridge.config import Config
from bridge.engine.state import Answer, Phase, Run

MEMBER_PATIENCE = 1.0  # seconds a node leaves the deletion of the workload to the batch node


def advance(config: Config, run: Run, at: float) -> Run:
    """The run with the answer to its epilog, once that can be given before the deadline."""
    if run.epilog_answer is not None or run.epilog_began is None:
        return run
    if at < run.epilog_began + config.timing.epilog_deadline:
        return run
    return replace(run, epilog_answer=Answer(1, _why_not(config, run)))


def epilog_answer(run: Run) -> Answer | None:
    """What the epilog hook is told, or None while it has to wait."""
    return Answer(0) if run.phase is Phase.RELEASED else run.epilog_answer


def _why_not(config: Config, run: Run) -> str:
    waited = f"{run.name} is not proven gone from this node after {config.timing.epilog_deadline:.0f} s: "
    if run.leftovers:
        return waited + "still alive: " + "; ".join(run.leftovers) + "; end them, then resume the node"
    if not run.pods_clear:
        trouble = run.trouble or "Kubernetes still shows its pods here"
        return waited + trouble + "; look at kubelet and API server, then resume the node"
    return waited + (run.trouble or "nobody could scan the node") + "; then resume the node"
