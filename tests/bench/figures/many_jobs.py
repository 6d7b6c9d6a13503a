"""How many jobs a second pass the prologs and epilogs of many nodes at once, and what is busy then."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bridge.kube.transport import Request, Transport

from ..figure import Figure, Measured, Round
from ..fleet import Fleet, fleet
from ..processors import Clock
from ..world import World

_NODES = 64
_WAVES = 2  # jobs of each node in one round
_FIRST = 10_000  # job number of the first round
_OBJECTS = 200
_CLIENTS = 8  # connections that make them at once
_SIZE = 6000  # bytes of one, as a small workload has


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """A job of one node on each of them, again and again; then what the API server makes of objects that nobody but
    their maker looks at."""
    stack = world.stack
    with fleet(stack, _NODES) as nodes, closing(_admin(world)) as transport:

        def one_round(number: int) -> Measured:
            clock = Clock(nodes.workers())
            rate = _passed(nodes, _FIRST + number * _NODES * _WAVES)
            busy = clock.columns()
            return {"ours": [rate], **busy, "API server's own": [_own(transport, stack.namespace)]}

        _passed(nodes, _FIRST - _NODES * _WAVES)  # connections and imports
        yield one_round


def _passed(nodes: Fleet, first: int) -> float:
    """Jobs a second."""
    began = time.monotonic()
    for wave in range(_WAVES):
        for phase in ("prolog", "epilog"):
            nodes.hooks_of_many(phase, first + wave * _NODES)
    return _NODES * _WAVES / (time.monotonic() - began)


def _admin(world: World) -> Transport:
    return Transport(Path(str(world.stack.description["admin_kubeconfig"])), 60)


def _own(transport: Transport, namespace: str) -> float:
    """Objects a second that are made and deleted, by some clients at once."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def make_and_delete(number: int) -> None:
        body: dict[str, Any] = {"metadata": {"name": f"bench-{number}"}, "data": {"text": "x" * _SIZE}}
        transport.call(Request("POST", path, body=body))
        transport.call(Request("DELETE", f"{path}/bench-{number}"))

    began = time.monotonic()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(make_and_delete, range(_OBJECTS)))
    return _OBJECTS / (time.monotonic() - began)


FIGURE = Figure(
    name="throughput-64",
    what=f"jobs of one node each through prolog and epilog, {_NODES} imitated nodes at once",
    unit="jobs a second",
    measuring=measuring,
    nodes=1,
    rounds=3,
    quick=0,
    notes=(
        f"{_NODES} real bridged and hooks; a pod is Ready as soon as it is bound; there is no slurmd and no slurmrestd",
        "processors: how many each kept busy meanwhile; when everything has as many as the machine, they are the wall",
        f"the API server's own: objects of {_SIZE / 1000:.0f} kB made and deleted by {_CLIENTS} clients at once",
    ),
)
