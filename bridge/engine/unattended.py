"""A run that the journal shows in its prolog when the daemon begins. Mostly its hook comes back at once. Where it does
not, the journal may be a copy that was put back: then the prolog was answered long ago and the training may be at work,
however late it is by the journal, and whatever its pods once waited for.

So until the hook is back nothing is made, opened, judged or deleted. When the hook has had its time and Kubernetes has
told of the pods, what is seen now decides: a run that started goes on, any other one was left by its hook.
"""

from bridge.engine.replacing import replace
from bridge.engine.replies import judged
from bridge.engine.state import Answer, Judgement, Phase, Run
from bridge.job.faults import runs

_LISTS = ("workload", "pods")


def advance(run: Run, at: float) -> Run:
    """The run led on, once both are known: that no hook comes, and which pods there are."""
    if run.unattended is None or not (run.unattended.hook_left and _is_listed(run, run.unattended.listed)):
        return run
    run = replace(run, unattended=None)
    return _gone_on(run) if _has_started(run) else judged(run, Judgement.of(runs.HOOK_LEFT.finding()), at)


def _is_listed(run: Run, listed: frozenset[tuple[str, str]]) -> bool:
    """Wherever its workload may be; a journal of before there were several such places says not where."""
    return all((what, home) in listed or (what, "") in listed for what in _LISTS for home in run.rules.homes)


def _has_started(run: Run) -> bool:
    """Whether the prolog must have ended well: on the batch node it waited for all pods, elsewhere for its own. When
    a run has failed since, the operator has taken its other pods away."""
    if not run.is_batch:
        return run.own_pod_visible and _was_let_through(run)
    pods = (run.pods.get(rank) for rank in range(len(run.nodes)))
    over_or_started = run.workload_failed or all(pod is not None and pod.started for pod in pods)
    return run.knows_its_workload and over_or_started


def _was_let_through(run: Run) -> bool:
    return run.own_pod is not None and run.own_pod.gate is None


def _gone_on(run: Run) -> Run:
    """Like a run that was adopted: its gates were opened long ago."""
    opened = run.own_pod.uid if run.own_pod is not None and _was_let_through(run) else run.opened
    return replace(
        run,
        phase=Phase.RUNNING,
        adopted=True,
        prolog_answer=Answer(0),
        opened=opened,
        known_uids=run.known_uids | frozenset({opened} - {""}),
        suspicions={},
    )
