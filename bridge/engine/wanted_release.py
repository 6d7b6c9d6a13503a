"""Which work a release wants, the second half of the way of a job: from the epilog's beginning to a free node."""

from collections.abc import Iterator

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import crowd, drain
from bridge.engine.activities import Activity
from bridge.engine.release import last_moment
from bridge.engine.state import Effort, Run, Workload
from bridge.engine.watched import pods_of, watching

_PROVE_ANYWAY = 10.0  # seconds after which the pods are listed even though the watch still shows one; later if many
_PROOFS_DOUBLED = 3  # so often the time until the next such list doubles


def releasing(run: Run, at: float) -> Iterator[Activity]:
    """In the order of the way: deleted, gone from the API server, gone from the node."""
    if run.resume is Effort.WANTED:
        yield do.ResumeNode(run.drain_reason, run.tried("resume"))
        return
    if run.allocation is None:
        yield from _sweep(run)
        return
    if not run.pods_clear:
        yield from _watching_the_end(run, at)
        yield from _deleting(run, at)
        yield from _proving(run, at)
    else:
        yield do.ScanNode(tuple(sorted(run.known_uids)), run.tried("scan"))


def moments(config: Config, run: Run) -> Iterator[float]:
    """When time alone changes what a release wants, or ends it."""
    if run.epilog_began is not None:
        yield run.epilog_began + crowd.member_patience(run)
        yield run.epilog_began + crowd.cascade_patience(run)
        yield run.epilog_began + _proof_moment(run)
        yield last_moment(config, run)
        yield last_moment(config, run) + drain.PATIENCE


def _sweep(run: Run) -> Iterator[Activity]:
    if run.pods_clear:
        yield do.ScanNode(tuple(sorted(run.known_uids)), run.tried("scan"))
    else:
        yield do.SweepJob(run.key.job_id, run.tried("prove"))


def _watching_the_end(run: Run, at: float) -> Iterator[Activity]:
    """A node whose pod is still there waits for that. When it is gone, or nobody seems to delete it, the node looks at
    the workload once, and watches it only if nobody has deleted it. Where it follows the run, its watches go on."""
    is_deserted = run.workload is Workload.LIVE and run.workload_shown
    if run.follows or is_deserted or run.workload is Workload.NONE:
        yield from watching(run)
        return
    for namespace in run.rules.homes:
        yield pods_of(run, namespace)
    is_there = run.workload in (Workload.LIVE, Workload.UNKNOWN)
    if is_there and (_is_alone(run, at) or not run.own_pod_visible):
        yield do.LookForWorkload(run.name, 0, run.tried("gang"))


def _is_alone(run: Run, at: float) -> bool:
    """Whether this node has left to the batch node for long enough what that should have done."""
    assert run.epilog_began is not None
    return at >= run.epilog_began + crowd.member_patience(run)


def _deleting(run: Run, at: float) -> Iterator[Activity]:
    assert run.epilog_began is not None
    is_left = _is_alone(run, at) and (run.follows or run.workload_shown)
    if run.workload in (Workload.LIVE, Workload.UNKNOWN) and (run.is_batch or is_left):
        yield do.DeleteWorkload(run.name, run.workload_uid, run.tried("delete"))
    pod = run.own_pod
    forgotten = at >= run.epilog_began + crowd.cascade_patience(run)
    if run.own_pod_visible and pod is not None and not pod.deleting and forgotten:
        yield do.DeletePod(pod.name, pod.uid, run.tried("delete-pod"))


def _proving(run: Run, at: float) -> Iterator[Activity]:
    assert run.epilog_began is not None
    settled = run.workload in (Workload.NONE, Workload.DELETING, Workload.GONE)
    if not settled:
        return
    if not run.own_pod_visible or at >= run.epilog_began + _proof_moment(run):
        pod = "" if run.own_pods_gone else run.own_pod_name
        yield do.ProveGone(run.name, pod, run.node, run.tried("prove"))


def _proof_moment(run: Run) -> float:
    """Seconds from the epilog's beginning to the next look for pods that the watch still shows. It is there for a watch
    that nobody answers any more, which is noticed itself within minutes; a thousand nodes whose pods the kubelets and
    the garbage collector end one after the other are not to ask for them all every few seconds."""
    first, tries = _PROVE_ANYWAY * crowd.times(run), run.tried("prove")
    longest = first * 2.0**_PROOFS_DOUBLED
    return first * 2.0 ** min(tries, _PROOFS_DOUBLED) + longest * max(0, tries - _PROOFS_DOUBLED)
