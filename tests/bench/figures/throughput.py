"""How many jobs a minute pass a node's prolog and epilog, when there are always more."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from tests.integration import callers
from tests.integration.hands import without_hooks
from tests.integration.specs import container_job
from tests.integration.stack import eventually

from ..figure import Bound, Figure, Measured, Round
from ..floor import Floor
from ..passage import Way, another, way
from ..world import World

_JOBS = 8  # in one round
_SLURMS = 32  # jobs of an array that slurmctld has to itself
_SIZE = ("-N1", "-n1", "--mem=256M", f"--array=1-{_JOBS}")


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """An array of short jobs of ours, one of jobs that are not, and what Kubernetes alone makes of as many."""
    stack = world.stack
    tokens = {world.node: callers.of_node(stack, world.node).token}
    with way(world) as stood_by, closing(Floor(stack, tokens)) as floor:
        workload = stood_by.go().workload

        def one_round(number: int) -> Measured:
            return {
                "ours": [_rate(stood_by, container_job(stack.images["small"], "true"))],
                "not ours": [_rate(stood_by, None)],
                "not ours, submit to end": [_slurms(world)],
                "slurmctld's, no hook of ours": [_without_hooks(world)],
                "floor, one after the other": [_floors(floor, workload, world.node, number * _JOBS)],
            }

        yield one_round


def _rate(stood_by: Way, spec: str | None) -> float:
    stack, stamps = stood_by.world.stack, stood_by.stamps
    passed = len(stamps.of_all("epilog"))
    stack.submit(spec, *_SIZE, f"--nodelist={stood_by.world.node}", script="true", name="bench")
    stamps.await_count("epilog", passed + _JOBS)
    began = [span.began for span in stamps.of_all("prolog")][-_JOBS:]
    ended = [span.ended for span in stamps.of_all("epilog")][-_JOBS:]
    stack.await_idle(60)
    return 60 * _JOBS / (max(ended) - min(began))


def _without_hooks(world: World) -> float:
    with without_hooks(world.stack, world.node):
        return _slurms(world)


def _slurms(world: World) -> float:
    """Of jobs that are not ours, from their submission until slurmctld has none of them any more."""
    stack = world.stack
    began = time.monotonic()
    options = ("-N1", "-n1", "--mem=256M", f"--array=1-{_SLURMS}", f"--nodelist={world.node}")
    job = stack.submit(None, *options, script="true", name="bench")
    left = ("squeue", "--noheader", f"--jobs={job.id}")
    eventually(lambda: not stack.exec("login", *left, check=False).strip(), 300, f"end of array {job.id}")
    return 60 * _SLURMS / (time.monotonic() - began)


def _floors(floor: Floor, workload: dict[str, Any], node: str, first: int) -> float:
    began = time.monotonic()
    for number in range(first, first + _JOBS):
        made = another(workload, number)
        floor.begin(made, (node,))
        floor.end(made, 1)
    return 60 * _JOBS / (time.monotonic() - began)


FIGURE = Figure(
    name="throughput",
    what=f"short jobs through prolog and epilog of one node, {_JOBS} at once",
    unit="jobs a minute",
    measuring=measuring,
    nodes=1,
    bounds=(
        Bound(
            "floor, one after the other", than="ours", times=1, why="two jobs at a time are no slower than one by one"
        ),
    ),
    rounds=3,
    quick=0,
    notes=("the node runs two jobs at a time; the floor runs no job, only its pod",),
)
