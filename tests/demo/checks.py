"""What must be true of a job that went the whole way. Pure; each check raises DemoError with one sentence."""

import re
from collections.abc import Mapping, Sequence

from tests.demo.errors import DemoError
from tests.demo.moments import Moment, Story, What

# Seconds that one watcher of a busy machine may be told later than another.
APART = 1.0

# Each before the other: for the whole job, and for what happens on each node by itself.
_BEFORE = (
    (What.SUBMITTED, What.ALLOCATED),
    (What.ALLOCATED, What.CREATED),
    (What.CREATED, What.GATE_OPENED),
    (What.READY, What.SCRIPT_STARTED),
    (What.SCRIPT_STARTED, What.FINISHED),
    (What.FINISHED, What.GONE),
)
_BEFORE_ON_A_NODE = ((What.GATE_OPENED, What.READY), (What.GONE, What.RELEASED))


def timeline(story: Story, nodes: Sequence[str]) -> None:
    """Every station was reached, as often as it must be, and in its order."""
    for what in What:
        times = len(_of(story.moments, what))
        wanted = {What.GATE_OPENED: len(nodes), What.READY: len(nodes), What.RELEASED: len(nodes)}
        wanted |= {What.GONE: len(nodes) + 1}
        if times != wanted.get(what, 1):
            raise DemoError(f"'{what.value}' was seen {times} times in the timeline, not {wanted.get(what, 1)} times")
    for earlier, later in _BEFORE:
        _in_order(_of(story.moments, earlier), _of(story.moments, later))
    for node in nodes:
        here = [moment for moment in story.moments if moment.node == node]
        for earlier, later in _BEFORE_ON_A_NODE:
            _in_order(_of(here, earlier), _of(here, later))


def placement(story: Story, nodes: Sequence[str]) -> None:
    """One pod on each allocated node, its rank the node's place in Slurm's list, each born behind its gate."""
    placed = {pod.rank: pod.node for pod in story.pods.values()}
    if placed != dict(enumerate(nodes)):
        raise DemoError(f"the pods of ranks {placed} are not on Slurm's nodes in their order, {', '.join(nodes)}")
    for name, pod in story.pods.items():
        if pod.annotated_rank != str(pod.rank):
            raise DemoError(f"pod {name} says that its node's rank is {pod.annotated_rank!r}, not {pod.rank}")
        if not pod.gated:
            raise DemoError(f"pod {name} was never seen behind its gate")


def accounting(state: str, exit_code: str) -> None:
    """Slurm accounts for the training's own success."""
    if (state, exit_code) != ("COMPLETED", "0:0"):
        raise DemoError(f"sacct says {state} {exit_code}, not COMPLETED 0:0")


def output(text: str, nodes: Sequence[str]) -> None:
    """The Slurm output file has the lines of every rank, and a loss."""
    for rank, node in enumerate(nodes):
        wanted = f"rank {rank} of {len(nodes)} on {node}"
        if wanted not in text.splitlines():
            raise DemoError(f"the output file lacks the line '{wanted}'")
    if not re.search(r"^final loss \d+\.\d+$", text, re.MULTILINE):
        raise DemoError("the output file has no final loss")


def comment(text: str, token: str, ranks: int) -> None:
    """The job's comment is the user's own, and behind it our sentence."""
    wanted = f"{token} | k8s: finished: {ranks}/{ranks} ranks exited 0; ready after N s"
    if re.sub(r"\b\d+ s$", "N s", text) != wanted:
        raise DemoError(f"the job's comment is '{text}', not '{wanted}'")


def daemons(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """No daemon ended on the way: a run survives that, but nothing here asked for it."""
    for node, start in before.items():
        if after[node] != start:
            raise DemoError(f"bridged on {node} ended during the job and was started again; its journal says why")


def _of(moments: Sequence[Moment], what: What) -> list[Moment]:
    return [moment for moment in moments if moment.what is what]


def _in_order(earlier: Sequence[Moment], later: Sequence[Moment]) -> None:
    last = max(earlier, key=lambda moment: moment.at)
    first = min(later, key=lambda moment: moment.at)
    if last.at > first.at + APART:
        raise DemoError(
            f"'{first.what.value}' ({first.detail}) was seen {last.at - first.at:.2f} s before "
            f"'{last.what.value}' ({last.detail})"
        )
