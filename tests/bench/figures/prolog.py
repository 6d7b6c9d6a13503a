"""A whole prolog of one real node, and its release, beside the floor and beside kubectl."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.integration import callers

from .. import naive
from ..census import census
from ..figure import Bound, Figure, Measured, Round
from ..floor import Floor
from ..passage import Passage, Way, another, received, way
from ..world import World


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """Ours, then the floor and kubectl with the workload that ours had."""
    stack, nodes = world.stack, (world.node,)
    tokens = {world.node: callers.of_node(stack, world.node).token}
    with way(world) as stood_by, closing(Floor(stack, tokens)) as floor:

        def one_round(number: int) -> Measured:
            passage = stood_by.go()
            bare, ungated = another(passage.workload, 2 * number), another(passage.workload, 2 * number + 1)
            ungated = naive.ungated(ungated, nodes)
            begun = {"floor": [floor.begin(bare, nodes)]}
            begun["floor, release"] = [floor.end(bare, 1)]
            with naive.open_to_all(stack, nodes):
                begun["kubectl"] = [naive.begin(stack, ungated, 1)]
                begun["kubectl, release"] = [naive.end(stack, ungated, 1)]
            return {**ours(stood_by, passage), **begun}

        stood_by.go()  # connections and imports: a floor that resides has them, too
        yield one_round


def ours(stood_by: Way, passage: Passage) -> Measured:
    """Of one passage, in seconds."""
    prolog, epilog = passage.prologs[passage.nodes[0]], passage.epilogs[passage.nodes[0]]
    created = min(received(entry) for entry in stood_by.asked(passage) if entry["verb"] == "create")
    return {
        "ours, create to exit": [prolog.ended - created],
        "ours, hook's start to exit": [prolog.seconds],
        "ours, release": [epilog.seconds],
        **census(stood_by.world.audit_log, passage.name, prolog.began),
    }


FIGURE = Figure(
    name="prolog-1",
    what="whole prolog and whole release of a job on one real node",
    unit="s",
    measuring=measuring,
    nodes=1,
    bounds=(
        Bound(
            "ours, create to exit",
            than="floor",
            times=1.10,
            plus=0.025,
            why="the floor does what Kubernetes needs and nothing else",
        ),
        Bound(
            "ours, create to exit",
            than="kubectl",
            times=1,
            why="what sites have without the bridge",
            reason="for one pod kubectl does nothing less; all three wait for the kubelet, and who is ahead is chance",
        ),
        Bound(
            "ours, release",
            than="kubectl, release",
            times=1,
            why="and they prove less: that objects are gone, not processes",
            reason="the kubelet looks at its containers once a second, and so all three scatter by as much; what is the"
            " bridge's of it is in own-share (release)",
        ),
    ),
    notes=("all three create the same pod; the policies judge ours and the floor, each as the node that it is",),
)
