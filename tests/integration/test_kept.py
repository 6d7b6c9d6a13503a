"""What a run costs stays what it was: the share of `make bench` that a busy machine finds as exactly as a quiet one."""

import re
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.bench import kept
from tests.bench.figure import Bound
from tests.bench.figures import foreign_hooks
from tests.bench.passage import Way, way
from tests.bench.samples import judge
from tests.bench.world import World

from . import audit
from .stack import Stack

pytestmark = pytest.mark.stack

_RUNS = 3
_NODES = 2
_WITHIN = 0.05
_BODIES = r'^apiserver_request_body_size_bytes_sum{group="[^"]*",resource="(\w+)",verb="create"} (\S+)$'


def test_a_run_asks_for_what_it_is_known_to_ask_for(stack: Stack) -> None:
    with way(World(stack, quick=True)) as stood_by:
        before = _created(stack)
        runs = [_asked(stood_by) for _ in range(_RUNS)]
        after = _created(stack)
    print(*runs, sep="\n")
    for name, requests in kept.REQUESTS.items():
        asked = [run[name] for run in runs]
        # Each kind's least: a slow machine has a question asked twice in one run or the other; none asks less.
        least = {kind: min(counts[kind] for counts in asked) for kind in set().union(*asked)}
        assert {kind: count for kind, count in least.items() if count} == requests, name
    made = {resource: (after[resource] - before.get(resource, 0.0)) / _RUNS for resource in kept.BYTES}
    assert made == pytest.approx(kept.BYTES, rel=_WITHIN)


def test_hooks_of_a_job_that_is_not_ours_cost_nearly_nothing(stack: Stack) -> None:
    with foreign_hooks.hooks_alone(World(stack, quick=True)) as one_round:
        found = one_round(0)
    for hook in ("prolog", "epilog"):
        assert judge(Bound(hook, than="empty hook", times=3, plus=5, why="far above what it is"), found).met, found


def _asked(stood_by: Way) -> dict[str, Counter[str]]:
    """Requests of one run by node and kind."""
    passage = stood_by.go(_NODES)
    entries = [entry for entry in stood_by.asked(passage) if not _is_log(entry)]
    return {
        name: Counter(
            f"{entry['verb']} {entry['objectRef']['resource']}"
            for entry in entries
            if audit.who(entry).endswith(f":{node}")
        )
        for node, name in zip(passage.nodes, kept.REQUESTS, strict=True)
    }


def _is_log(entry: Mapping[str, Mapping[str, str]]) -> bool:
    return entry["objectRef"].get("subresource") == "log"


def _created(stack: Stack) -> dict[str, float]:
    """Bytes that the API server has been sent so far to make objects of, by resource."""
    metrics = stack.kubectl("get", "--raw", "/metrics")
    return {resource: float(size) for resource, size in re.findall(_BODIES, metrics, re.MULTILINE)}
