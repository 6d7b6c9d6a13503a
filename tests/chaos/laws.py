"""What must hold, whatever has gone wrong: a pure look at the histories."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from bridge.messages.bridged import EPILOG_UNPROVEN, NO_BRIDGE_JOB
from bridge.slurm import comment

from .history import Drain, Ended, History, Hook, OwnFault, Pod
from .plan import NONE_OF_OURS, Kind, Lifecycle

_LAG = 1.5  # seconds by which who watches the API server may learn of something later than who asks it
_WELL = (Kind.SUCCESS, Kind.SLOW_PULL)
_LONG = 150.0  # seconds; a pull takes 25, a fault 6, and several meet
_MOMENT = 2.0  # seconds that a daemon without trouble has to tell slurmctld of a job
_AGAIN = 1.5  # so many times as long as it has tried in vain until it tries again, jitter among it
_LONGEST_AGAIN = 75.0  # seconds until then at most
_MINTED = 15.0  # seconds around a prolog's beginning in which its hook may have failed to bring a token
_ATTACHING = 5.0  # seconds that `attach` gives `scontrol token`
_PROVING = 15.0  # seconds without an end of the daemon that an epilog needs: others delete eleven earlier at most
_BLAME = 30.0  # seconds from a hook's failure to the drain


@dataclass(frozen=True)
class Violation:
    """Of which law, by which job and on which node ('' and 0 where there is none), and what was seen."""

    law: str
    seen: str
    at: float
    job: int = 0
    node: str = ""


@dataclass(frozen=True)
class Window:
    """When a node was a job's own: from its prolog to the end of an epilog that let the node go."""

    began: float
    ended: float


def violations(history: History) -> list[Violation]:
    """All of them, in the order in which they happened."""
    return sorted((found for law in LAWS for found in law(history)), key=lambda found: found.at)


def own_text(lifecycle: Lifecycle) -> str:
    """The user's part of a job's comment."""
    return f"lifecycle {lifecycle.number}, mine" + ("" if lifecycle.kind in NONE_OF_OURS else " k8s=job.yaml")


def windows(hooks: list[Hook]) -> dict[tuple[str, int], list[Window]]:
    """Of each job on each node. A prolog that failed takes its node out of the job's allocation only when an epilog has
    passed there, too."""
    found: dict[tuple[str, int], list[Window]] = defaultdict(list)
    begun: dict[tuple[str, int], float] = {}
    for hook in sorted(hooks, key=lambda each: each.began):
        place = hook.node, hook.job
        if hook.phase == "prolog":
            begun.setdefault(place, hook.began)
        elif place in begun and hook.code == 0 and hook.ended is not None:
            found[place].append(Window(begun.pop(place), hook.ended))
    for place, began in begun.items():
        found[place].append(Window(began, math.inf))
    return found


def one_workload(history: History) -> Iterator[Violation]:
    """No two live workloads for a job, be it one run of it or two. One whose deletion has been asked for lives no more:
    a garbage collector that stands still keeps it for as long as it likes (seed 26 of `memory`)."""
    of_job = defaultdict(list)
    for workload in history.workloads.values():
        of_job[workload.job].append(workload)
    for job, workloads in of_job.items():
        workloads.sort(key=lambda each: each.made)
        for first, second in pairwise(workloads):
            over = first.gone if first.deleted is None else first.deleted
            if over is None or second.made < over - _LAG:
                yield Violation("one workload", f"{second.name} beside {first.name}", second.made, job)


def own_nodes(history: History) -> Iterator[Violation]:
    """No pod, and no process of one, on a node outside its run's window."""
    known = windows(history.hooks)
    for pod in history.pods.values():
        its_own = known.get((pod.node, pod.job), [])
        window = next((each for each in its_own if each.began - _LAG <= pod.bound <= each.ended), None)
        if window is None:
            yield Violation("own nodes", f"{pod.name} bound while its job was not there", pod.bound, pod.job, pod.node)
        else:
            yield from _outlives(pod, window)


def _outlives(pod: Pod, window: Window) -> Iterator[Violation]:
    if pod.began is not None and (pod.ended or math.inf) > window.ended:
        late = f"the process of {pod.name} {pod.ended or math.inf:.3f}, the epilog {window.ended:.3f}"
        yield Violation("own nodes", late, window.ended, pod.job, pod.node)
    if (pod.gone or math.inf) > window.ended + _LAG:
        late = f"{pod.name} gone {pod.gone or math.inf:.3f}, the epilog {window.ended:.3f}"
        yield Violation("own nodes", late, window.ended, pod.job, pod.node)


def one_holder(history: History) -> Iterator[Violation]:
    """No lock held by two."""
    for conflict in history.conflicts:
        pod = history.pods.get(conflict.pod)
        name = pod.name if pod else conflict.pod
        yield Violation("one holder", f"{name} found the lock held", conflict.at, pod.job if pod else 0, conflict.node)


def no_drain(history: History) -> Iterator[Violation]:
    """No node drained unless the fault was that node's: what has struck there was its own, and a hook failed of it, or
    there was no daemon for so much of an epilog that it could come to no proof."""
    for drain in history.drains:
        of_node = (hook for hook in history.hooks if hook.node == drain.node)
        if not any(_is_to_blame(hook, drain, history) for hook in of_node):
            yield Violation("no drain", drain.reason, drain.at, node=drain.node)


def _is_to_blame(hook: Hook, drain: Drain, history: History) -> bool:
    ended = drain.at if hook.ended is None else hook.ended
    is_at_deadline = hook.phase == "epilog" and ended - hook.began >= history.epilog_deadline
    # The proof may come while the drain is on its way: it is lifted then, and the epilog ends well.
    is_overtaken = hook.phase == "epilog" and hook.began + history.epilog_deadline <= drain.at <= ended
    has_failed = hook.code != 0 and -_BLAME <= drain.at - ended <= _latest(drain, history)
    if not (has_failed or is_overtaken):
        return False
    if is_at_deadline and _longest(hook.began, ended, history.away.get(hook.node, [])) < _PROVING:
        return True
    return any(_has_met(hook, ended, fault) for fault in history.own.get(hook.node, []))


def _has_met(hook: Hook, ended: float, fault: OwnFault) -> bool:
    """A fault that this hook may fail of, while it was there."""
    is_its_own = fault.phase in ("", hook.phase) and fault.job in (0, hook.job)
    return is_its_own and fault.began - _LAG <= ended and hook.began <= fault.ended + _LAG


def _latest(drain: Drain, history: History) -> float:
    """Seconds. Whoever drains its node does that before it answers the hook. An epilog that was killed may have left a
    daemon behind that waits for the next hook, to its deadline."""
    return _BLAME + (history.epilog_deadline if EPILOG_UNPROVEN.name in drain.reason else 0.0)


def _longest(began: float, ended: float, away: list[tuple[float, float]]) -> float:
    """Seconds of the longest stretch in which a daemon was there."""
    longest, at = 0.0, began
    for went, came in [*sorted(away), (ended, ended)]:
        longest = max(longest, min(went, ended) - at)
        at = max(at, came)
    return longest


def all_told(history: History) -> Iterator[Violation]:
    """Every job that ran is told what became of it, where there was time for it: slurmctld takes no comment for a job
    that is over. A refusal stands in the job's output else."""
    for job, ended in history.ended.items():
        kind, sentence = ended.lifecycle.kind, comment.own_sentence(ended.comment)
        if kind in NONE_OF_OURS:
            if misheard := _misheard(ended):
                yield Violation("all told", misheard, _over(history, job), job)
        elif ended.started and not sentence:
            is_refused = kind is Kind.BAD_SPEC and (ended.output or ended.attached)
            is_excused = bool(ended.output) if is_refused else not _could_be_told(history, job)
            if not is_excused:
                yield Violation("all told", f"{kind.value}, {ended.state}: nothing", _over(history, job), job)


def _misheard(ended: Ended) -> str:
    """What is wrong with what a job heard that is none of ours: its comment is its own, and only to a script that
    attaches something is said. '' where nothing is."""
    if sentence := comment.own_sentence(ended.comment):
        return f"a foreign job was told {sentence!r}"
    if ended.lifecycle.attaches and ended.state == "FAILED" and NO_BRIDGE_JOB.name not in (ended.output or ""):
        return f"attached to nothing, and reads {ended.output!r}"
    return ""


def _could_be_told(history: History, job: int) -> bool:
    """Whether its batch node had a token of its owner, be it that of its `attach`, and time without trouble then."""
    of_job = sorted((hook for hook in history.hooks if hook.job == job), key=lambda hook: hook.began)
    batch = min((hook.node for hook in of_job), key=lambda node: (len(node), node))
    begun = next((hook for hook in reversed(of_job) if (hook.node, hook.phase) == (batch, "prolog")), None)
    if begun is None or begun.ended is None:
        return False
    knows = trained = begun.ended
    over = next((hook.began for hook in of_job if hook.phase == "epilog" and hook.began > trained), trained)
    tokenless, ended = history.tokenless.get(batch, []), history.ended[job]
    # `scontrol token` may take too long by itself, too, where the machine is busy: its output says so.
    if "[no-token]" in (ended.output or "") or any(begun.began - _MINTED <= at <= over for at in tokenless):
        attached = ended.attached or 0.0
        has_run = attached > begun.began  # and not only the script of an earlier run
        knows = max(trained, attached + _ATTACHING) if has_run else math.inf
    return _had_time(knows, over, history.troubles.get(batch, []))


def _had_time(began: float, ended: float, troubles: list[tuple[float, float]]) -> bool:
    """Whether between two times there is a stretch without trouble that is long enough: who has tried in vain for long
    does not try again at once."""
    at = began
    for first, last in [*sorted(troubles), (ended, ended)]:
        if min(first, ended) - at > _MOMENT + min(_LONGEST_AGAIN, _AGAIN * (at - began)):
            return True
        at = max(at, last)
    return False


def _over(history: History, job: int) -> float:
    """When the last that was seen of a job happened."""
    return max((hook.ended or hook.began for hook in history.hooks if hook.job == job), default=0.0)


def own_words(history: History) -> Iterator[Violation]:
    """The comment's own text and token are kept."""
    for job, ended in history.ended.items():
        kept = comment.user_part(ended.comment)
        if kept != own_text(ended.lifecycle):
            yield Violation("own words", f"of the user's comment is left {kept!r}", _over(history, job), job)


def right_end(history: History) -> Iterator[Violation]:
    """A job ends as its training did, and one that nobody ended and that nothing kept from training ends well."""
    for job, ended in history.ended.items():
        kind, code = ended.lifecycle.kind, ended.code.partition(":")[0]
        if kind is Kind.BAD_SPEC and ended.started and ended.state == "COMPLETED":
            yield Violation("right end", f"{kind.value}: {ended.state} {ended.code}", _over(history, job), job)
        if kind in (Kind.FAILURE, Kind.NO_SPEC) and ended.state == "COMPLETED":
            yield Violation("right end", f"{kind.value}: {ended.state} {code}", _over(history, job), job)


def no_line_lost(history: History) -> Iterator[Violation]:
    """What a training printed that ended well is whole in the job's output: each rank's lines, in their order, once. A
    place where lines may be missing is told as such."""
    for job, ended in history.ended.items():
        if ended.lifecycle.kind in _WELL and ended.state == "COMPLETED" and ended.output is not None:
            for rank in range(ended.lifecycle.nodes):
                said = re.findall(rf"^\[rank {rank}\] (.*)$", ended.output, re.MULTILINE)
                whole = [*(f"second {number}" for number in range(max(1, len(said) - 1))), "over"]
                if said != whole and not _is_told_as_missing(rank, ended.output):
                    yield Violation(
                        "no line lost", f"rank {rank} of {ended.lifecycle}: {said}", _over(history, job), job
                    )


def _is_told_as_missing(rank: int, output: str) -> bool:
    lost = re.findall(r"last lines of rank ([0-9, ]+) did not come in time", output)
    return f"rank {rank} may be missing" in output or any(str(rank) in ranks.split(", ") for ranks in lost)


def nobody_waits(history: History) -> Iterator[Violation]:
    """A hook ends soon after the fault that held it up; one that waits for its deadline has missed something. Where a
    node has lost its journal meanwhile, nobody knows whether it may still open the gate of the job's pod there."""
    nodes = defaultdict(set)
    for hook in history.hooks:
        nodes[hook.job].add(hook.node)
    for hook in history.hooks:
        if hook.ended is None or hook.ended - hook.began <= _LONG:
            continue
        forgot = (at for node in nodes[hook.job] for at in history.forgot.get(node, []))
        if not any(hook.began <= at <= hook.ended for at in forgot):
            waited = f"the {hook.phase} took {hook.ended - hook.began:.0f} s"
            yield Violation("nobody waits", waited, hook.ended, hook.job, hook.node)


def nothing_left(history: History) -> Iterator[Violation]:
    """After a minute of quiet."""
    for left in history.left:
        yield Violation("nothing left", left, math.inf)


LAWS: tuple[Callable[[History], Iterator[Violation]], ...] = (
    one_workload,
    own_nodes,
    one_holder,
    no_drain,
    all_told,
    own_words,
    right_end,
    no_line_lost,
    nobody_waits,
    nothing_left,
)
