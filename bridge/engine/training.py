"""While the script runs: who ended, how, and what that makes of the run."""

from bridge import wellknown
from bridge.engine.replacing import replace
from bridge.engine.reporting import saying
from bridge.engine.state import Outcome, Run, Workload
from bridge.job.faults import Finding, runs
from bridge.job.faults.containers import RANK_FAILED
from bridge.job.faults.pods import POD_DELETED, failure, how_it_ended, of_rank
from bridge.job.pods import PodFacts

FAILURE_GRACE = 1.2  # seconds in which kubelets tell of failures that happened together (they look every second)
_PLAIN_FAILURE = 1  # what a Python program exits with when its peer has died


def advance(run: Run, at: float) -> Run:
    """The run with its outcome, once that can be known."""
    if run.outcome is not None or run.judgement is not None or not run.follows:
        return run
    if run.stop_asked and run.failed_at is None:
        return _with(run, stopped(run)) if _is_at_rest(run) else run
    if run.failed_at is None and _has_failure(run):
        run = replace(run, failed_at=at)
    outcome = _outcome(run, at)
    return run if outcome is None else _with(run, outcome)


def stopped(run: Run) -> Outcome:
    """How a training ended that Slurm has put an end to."""
    found = runs.ENDED_BY_SLURM.finding(run.stop_cause or runs.ENDED_UNHEARD)
    return Outcome(wellknown.EXIT_TERMINATED, f"ended: {found.sentence}", None, found.fault.name)


def _with(run: Run, outcome: Outcome) -> Run:
    run = replace(run, outcome=outcome)
    return saying(run, _told(run, outcome)) if run.is_batch else run


def _is_at_rest(run: Run) -> bool:
    """No container of the run's is at work any more."""
    if run.workload is Workload.GONE:
        return True
    known = [(rank, run.pods.get(rank)) for rank in range(len(run.nodes))]
    return all(rank in run.lost or (pod is not None and pod.over) for rank, pod in known)


def _told(run: Run, outcome: Outcome) -> str:
    """For the comment, which also says what the prolog took of the job's time limit."""
    return outcome.reason if run.ready_at is None else f"{outcome.reason}; ready after {run.ready_at - run.began:.0f} s"


def _has_failure(run: Run) -> bool:
    return any(_failed_by_itself(pod) for pod in run.pods.values())


def _failed_by_itself(pod: PodFacts) -> bool:
    return pod.ended is not None and pod.ended.exit_code != 0 and not pod.deleting


def _ended_by_its_deletion(pod: PodFacts) -> bool:
    """Somebody deleted the pod, and its training took the signal for its end."""
    return pod.deleting and pod.ended is not None and pod.ended.exit_code != 0


def _outcome(run: Run, at: float) -> Outcome | None:
    everybody = len(run.pods) == len(run.nodes) and all(pod.over for pod in run.pods.values())
    if run.failed_at is not None:
        return _failure(run) if everybody or at >= run.failed_at + FAILURE_GRACE else None
    if everybody and all(pod.ended is not None and pod.ended.exit_code == 0 for pod in run.pods.values()):
        return Outcome(0, f"finished: {len(run.nodes)}/{len(run.nodes)} ranks exited 0")
    return _infrastructure(run)


def _failure(run: Run) -> Outcome:
    """The first failing rank. The kubelet's times are whole seconds: among failures of the same second one
    that is not Python's plain 1 says more, since that is what a rank exits with whose peer died."""
    failed = [pod for pod in run.pods.values() if _failed_by_itself(pod)] or [
        pod for pod in run.pods.values() if pod.ended is not None and pod.ended.exit_code != 0
    ]
    first = min(failed, key=_failure_order)
    found = how_it_ended(first)
    assert first.ended is not None and found is not None
    by_itself = found.fault is RANK_FAILED
    return _ended(found, first.ended.exit_code if by_itself else wellknown.EXIT_INFRASTRUCTURE)


def _failure_order(pod: PodFacts) -> tuple[str, bool, int]:
    assert pod.ended is not None
    return (pod.ended.finished_at, pod.ended.exit_code == _PLAIN_FAILURE, pod.rank)


def _infrastructure(run: Run) -> Outcome | None:
    """Something other than the training ended the run: its pods or its workload were taken away."""
    for rank, pod in sorted(run.pods.items()):
        if pod.over and not _ended_by_its_deletion(pod):
            continue
        if (found := failure(pod)) is not None:
            return _ended(found)
        if rank in run.lost:
            return _ended(of_rank(POD_DELETED, pod))
    if run.workload in (Workload.GONE, Workload.DELETING):
        return _ended(runs.WORKLOAD_DELETED.finding("while it ran"))
    return None


def _ended(found: Finding, exit_code: int = wellknown.EXIT_INFRASTRUCTURE) -> Outcome:
    rank = None if found.rank < 0 else found.rank
    return Outcome(exit_code, f"failed: {found.sentence}", rank, found.fault.name)
