"""What the bridge itself adds behind the last pod: at a prolog's end, and at a release."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.pod_watch import PodWatch

from ..figure import Bound, Figure, Measured, Round
from ..passage import Passage, Way, way
from ..world import World

_PASSAGES = 3  # in one round
_NODES = 2


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """Jobs of two nodes. A second watcher tells what it costs here to be told of anything."""
    with way(world) as stood_by, world.stack.watching_pods() as second:

        def one_round(_number: int) -> Measured:
            found: dict[str, list[float]] = {}
            for _ in range(_PASSAGES):
                for name, seconds in _shares(stood_by, second, stood_by.go(_NODES)).items():
                    found.setdefault(name, []).extend(each * 1000 for each in seconds)
            return found

        stood_by.go(_NODES)  # connections and imports
        yield one_round


def _shares(stood_by: Way, second: PodWatch, passage: Passage) -> dict[str, list[float]]:
    pods = {node: passage.pod(node) for node in passage.nodes}
    batch, *others = passage.nodes
    for watcher in (stood_by.pods, second):
        watcher.await_gone(pods.values(), 30)
    ready, gone = stood_by.pods.ready, stood_by.pods.gone
    return {
        "prolog, batch node": [passage.prologs[batch].ended - max(ready[pod] for pod in pods.values())],
        "prolog, other node": [passage.prologs[node].ended - ready[pods[node]] for node in others],
        "two watchers apart": [abs(second.ready[pod] - ready[pod]) for pod in pods.values()],
        "release": [passage.epilogs[node].ended - gone[pods[node]] for node in passage.nodes],
    }


_WHY = "the script waits for it, and nothing but the bridge can make it shorter"

_BUSY = (
    "reading the event, deciding, the journal's sync and the hook's end take 1 to 5 ms each, as traced, while kubelets"
    " and containerd of all nodes start containers on the same two processors"
)

_PROLOGS = [
    bound
    for column in ("prolog, batch node", "prolog, other node")
    for bound in (
        Bound(column, plus=10, why=_WHY, reason=_BUSY),
        Bound(column, plus=50, at=0.99, why=_WHY, reason=_BUSY),
    )
]

FIGURE = Figure(
    name="own-share",
    what="hook's exit minus what it waited for, as an independent watcher saw it: the last pod started, the pod gone",
    unit="ms",
    measuring=measuring,
    nodes=_NODES,
    bounds=(*_PROLOGS, Bound("release", plus=1000, at=1.0, why="until then the next job's node stands idle")),
    notes=(
        "the batch node waits for the last pod of all, another node for its own",
        "two watchers apart: how much later one of two equal watchers of the bench is told that a pod is Ready: so"
        " exactly is the rest known",
    ),
)
