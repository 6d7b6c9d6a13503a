"""What the daemon of a node holds and burns."""

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.integration.stack import Stack

from .. import naive, process
from ..figure import Bound, Figure, Measured, Round
from ..passage import another, way
from ..world import World

_RUNS = 3  # in one round
_IDLE = 20  # seconds; of a quick bench a quarter


@contextmanager
def holding(world: World) -> Iterator[Round]:
    """Started anew for each round; then runs pass."""
    with way(world) as stood_by:

        def one_round(_number: int) -> Measured:
            process.restart(world.stack, world.node)
            found = {"at start": [process.memory(world.stack, world.node)]}
            for run in range(_RUNS):
                stood_by.go()
                if run in (0, _RUNS - 1):
                    found["after one run" if run == 0 else "after the last run"] = [
                        process.memory(world.stack, world.node)
                    ]
            return found

        yield one_round


@contextmanager
def counting(world: World) -> Iterator[Round]:
    """The same, of what must not leak."""
    with way(world) as stood_by:

        def one_round(_number: int) -> Measured:
            process.restart(world.stack, world.node)
            stood_by.go()
            found = {name: [_settled(world, count)] for name, count in _COUNTS.items()}
            for _ in range(_RUNS):
                stood_by.go()
            later = {f"{name} later": [_settled(world, count)] for name, count in _COUNTS.items()}
            return found | later | {"connections later": [_settled(world, process.connections)]}

        yield one_round


def _settled(world: World, count: Callable[[Stack, str], int]) -> float:
    """The least of some seconds: what belongs to a run that is over may end a moment later."""
    counts = []
    for _ in range(_LOOKS):
        counts.append(count(world.stack, world.node))
        time.sleep(1)
    return float(min(counts))


_LOOKS = 5
_COUNTS = {"threads": process.threads, "descriptors": process.descriptors}
_IDLE_CONNECTIONS = 8  # at most that are kept, of as many as were once needed at the same time


@contextmanager
def burning(world: World) -> Iterator[Round]:
    """Idle for a while, then runs pass; kubectl with the workload of the last one."""
    stack, node = world.stack, world.node
    seconds = _IDLE / 4 if world.quick else _IDLE
    with way(world) as stood_by:

        def one_round(number: int) -> Measured:
            before = process.cpu(stack, node)
            time.sleep(seconds)
            idle = process.cpu(stack, node)
            passages = [stood_by.go() for _ in range(_RUNS)]
            runs = (process.cpu(stack, node) - idle) / _RUNS
            workload = naive.ungated(another(passages[-1].workload, number), (node,))
            return {
                "idle, a second": [(idle - before) / seconds],
                "a run": [runs],
                "kubectl, a run": [_of_children(world, workload)],
            }

        yield one_round


def _of_children(world: World, workload: dict[str, object]) -> float:
    with naive.open_to_all(world.stack, [world.node]):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        naive.begin(world.stack, workload, 1)
        naive.end(world.stack, workload, 1)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


MEMORY = Figure(
    name="memory",
    what="resident memory of the daemon",
    unit="MB",
    measuring=holding,
    rounds=2,
    bounds=(
        Bound("after the last run", plus=80, at=1.0, why="it is on every node of the machine"),
        Bound("after the last run", than="after one run", times=1.02, plus=1, why="flat in the number of runs"),
    ),
    notes=(f"the last run is number {_RUNS}; `make soak` is to show 10,000",),
)
HANDLES = Figure(
    name="handles",
    what="threads and open files of the daemon",
    unit="count",
    measuring=counting,
    rounds=2,
    quick=0,
    bounds=(
        *(Bound(f"{name} later", than=name, times=1, why="nothing leaks") for name in _COUNTS),
        Bound("connections later", plus=_IDLE_CONNECTIONS, at=1.0, why="of those that idle no more are kept"),
    ),
    notes=("descriptors: without connections to the API server, which are counted apart",),
)
CPU = Figure(
    name="cpu",
    what="processor time of the daemon",
    unit="ms",
    measuring=burning,
    rounds=2,
    bounds=(
        Bound("idle, a second", plus=1, why="0.1 % of a processor"),
        Bound("a run", than="kubectl, a run", times=1, why="what a prolog with kubectl burns"),
    ),
)
