"""What a run asks of the API server, from its audit log."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.integration import audit, callers

from .. import naive, process
from ..changes import Changes, changes
from ..figure import Bound, Figure, Measured, Round
from ..floor import Floor
from ..passage import another, received, way
from ..world import World

_NODES = 2
_STREAMS = ("watch", "log")
_OWN_LOOKS = {"batch node": 1, "other node": 0}  # at the Node, for a run; what is more is the daemon's, once a minute


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """A run of two nodes, then kubectl with the same workload."""
    with way(world) as stood_by, changes(world.stack) as changed:

        def one_round(number: int) -> Measured:
            passage = stood_by.go(_NODES)
            asked = stood_by.asked(passage)
            found: dict[str, list[float]] = {}
            for node, name in zip(passage.nodes, _OWN_LOOKS, strict=True):
                mine = [entry for entry in asked if audit.who(entry).endswith(f":{node}")]
                found |= _counted(name, mine, changed, passage.name)
            ungated = naive.ungated(another(passage.workload, number), passage.nodes)
            return {**found, **_counted("kubectl", _kubectl(world, ungated), changed, ungated["metadata"]["name"])}

        yield one_round


def _kind(entry: dict[str, Any]) -> str:
    """The verb; what stays open is a stream."""
    if entry["objectRef"].get("subresource") == "log":
        return "log"
    if entry["objectRef"]["resource"] == "nodes":
        return "Node"
    return str(entry["verb"])


def _counted(who: str, asked: Iterable[dict[str, Any]], changed: Changes, workload: str) -> dict[str, list[float]]:
    """What somebody has asked, and what their watches were sent of this workload."""
    entries = list(asked)
    kinds, looks = [_kind(entry) for entry in entries], _OWN_LOOKS.get(who, 0)
    watches = [entry for entry, kind in zip(entries, kinds, strict=True) if kind == "watch"]
    return {
        who: [float(sum(kind not in (*_STREAMS, "Node") for kind in kinds) + min(looks, kinds.count("Node")))],
        **{f"{who}, {stream}": [float(kinds.count(stream))] for stream in _STREAMS},
        f"{who}, watch events": [float(changed.of(workload, watches))],
    }


def _kubectl(world: World, workload: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """What it asks for the same workload."""
    began = time.time()
    with naive.open_to_all(world.stack, world.stack.nodes):
        naive.begin(world.stack, workload, _NODES)
        naive.end(world.stack, workload, _NODES)
    log = Path(str(world.stack.description["audit_log"]))
    name = workload["metadata"]["name"]
    asked = {
        entry["auditID"]: entry
        for entry in audit.entries(log, "kubectl")
        if received(entry) >= began and name in json.dumps(entry["objectRef"]) + entry["requestURI"]
    }
    return asked.values()


@contextmanager
def weighing(world: World) -> Iterator[Round]:
    """A run of two nodes until it trains, then the floor with the same workload."""
    stack = world.stack
    tokens = {node: callers.of_node(stack, node).token for node in stack.nodes}
    with way(world) as stood_by, closing(Floor(stack, tokens)) as floor:
        stood_by.go(_NODES)  # its connection is made once, as the floor's

        def one_round(number: int) -> Measured:
            before = {node: process.traffic(stack, node) for node in stack.nodes}
            seen: dict[str, dict[str, int]] = {}
            passage = stood_by.go(
                _NODES, look=lambda: seen.update({node: process.traffic(stack, node) for node in stack.nodes})
            )
            workload, already = another(passage.workload, number), floor.bytes
            floor.begin(workload, passage.nodes)
            alone = (floor.bytes - already) / 1000
            floor.end(workload, _NODES)
            found = {"floor, for both": [alone]}
            for node, name in zip(passage.nodes, _OWN_LOOKS, strict=True):
                more = {way: count - before[node].get(way, 0) for way, count in seen[node].items()}
                found[name] = [sum(more.values()) / 1000]
            return found

        yield one_round


BYTES = Figure(
    name="bytes",
    what="bytes of one run between a node and the API server, until it trains",
    unit="kB",
    measuring=weighing,
    rounds=3,
    quick=0,
    notes=("ours with TLS and the heads of HTTP, the floor's without",),
)

_WHY = "10,000 nodes are 10,000 clients of one API server"

FIGURE = Figure(
    name="requests",
    what="requests of one run at the API server, from prolog to release",
    unit="requests",
    measuring=measuring,
    bounds=(
        Bound("batch node", plus=5, at=1.0, why=_WHY),
        Bound("other node", plus=3, at=1.0, why=_WHY),
    ),
    notes=(
        "watches and logs are counted apart; each daemon looks at its Node once a minute, which is no run's",
        "watch events: those of the run that a watcher of its own saw, of what each node's watches asked for",
    ),
)
