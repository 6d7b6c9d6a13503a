"""A whole prolog and a whole release of many nodes that KWOK imitates, beside the floor and beside kubectl."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration import audit
from tests.integration.pod_watch import PodWatch

from .. import naive
from ..census import census
from ..computing import Load, computing
from ..daemons import LAST
from ..figure import Bound, Figure, Measured, Round
from ..fleet import TOGETHER, Fleet, fleet
from ..floor import Floor
from ..passage import another, received
from ..processors import Clock
from ..stamps import Span
from ..world import World

_FIRST = 1000  # job number of the first round
_PROCESSES = 256  # nodes at most that are a process each
_SHARE = 64  # nodes at most whose own share means something: beyond, they wait for one another's processors
_SHARED = (
    "the nodes of this one machine have to wait for one another's hooks and daemons: everything keeps all processors"
    " busy (processors: everything), and the floor is as much later where as much is computed beside it"
)
_ALONE = (
    "what computes beside the floor asks nothing: there the API server has one client on one connection, here as many"
    " as there are nodes, each with a credential, a connection and watches of its own (requests: bridge)"
)
_REQUESTS = 6  # a node's in a whole run, its two watches among them
_REPEATED = (
    "an API server and an etcd that wait for processors answer later than a node waits for that, and it asks again"
    " (requests in vain: bridge); and to many a pod the garbage collector comes so late that its node deletes it"
)
_FLOOR = (
    "the floor, which does only what Kubernetes needs, is not so much faster than kubectl either: the operator makes,"
    " and the garbage collector takes away, one pod after the other; and the nodes wait for one another's processors"
)
_PEER = 256  # nodes at most that kubectl is tried with


def _measuring(count: int) -> Callable[[World], AbstractContextManager[Round]]:
    @contextmanager
    def measuring(world: World) -> Iterator[Round]:
        """Ours, then the floor and kubectl with the workload that ours had."""
        stack = world.stack
        with (
            fleet(stack, count, together=count > _PROCESSES) as nodes,
            closing(Floor(stack, nodes.tokens)) as floor,
            stack.watching_pods() as pods,
        ):

            def one_round(number: int) -> Measured:
                run = _ours(nodes, pods, _FIRST + number)
                bare, crowded, ungated = (another(run.workload, 3 * number + each) for each in range(3))
                found = run.columns
                found["floor"] = [floor.begin(bare, nodes.nodes)]
                found["floor, release"] = [floor.end(bare, count)]
                with computing(run.load):
                    found["floor, as much computed beside"] = [floor.begin(crowded, nodes.nodes)]
                with computing(run.load_of_release):
                    found["floor, release, as much computed beside"] = [floor.end(crowded, count)]
                if count > _PEER:
                    return found
                ungated = naive.ungated(ungated, nodes.nodes)
                with naive.open_to_all(stack, nodes.nodes):
                    found["kubectl"] = [naive.begin(stack, ungated, count)]
                    found["kubectl, release"] = [naive.end(stack, ungated, count)]
                return found

            _ours(nodes, pods, _FIRST - 1)  # connections and imports: a floor that resides has them, too
            yield one_round

    return measuring


@dataclass(frozen=True)
class _Run:
    """What one run was seen to take, and what its nodes have computed."""

    columns: dict[str, list[float]]
    workload: dict[str, Any]
    load: Load
    load_of_release: Load


def _ours(nodes: Fleet, pods: PodWatch, job: int) -> _Run:
    clock = Clock(nodes.workers())
    prologs = nodes.hooks("prolog", job)
    busy, load = clock.columns(), _load(nodes, clock)
    (workload,) = nodes.stack.objects("pytorchjobs", f"slurm-k8s-bridge/job={job}")
    clock = Clock(nodes.workers())
    epilogs = nodes.hooks("epilog", job)
    load_of_release = _load(nodes, clock)
    worker = [f"{workload['metadata']['name']}-worker-{rank}" for rank in range(len(nodes.nodes))]
    first, *others = nodes.nodes
    pods.await_gone(worker, 60)
    began, ended = _hull(prologs)
    ended_alone = [prologs[node].ended - pods.ready[pod] for node, pod in zip(others, worker[1:], strict=True)]
    released, free = _hull(epilogs)
    # Only then has the garbage collector done what the audit log is asked for.
    nodes.stack.kubectl(
        "wait",
        "--for=delete",
        "--timeout=120s",
        f"pytorchjobs/{workload['metadata']['name']}",
        "-n",
        nodes.stack.namespace,
    )
    columns = {
        "ours, create to exit": [ended - _created(nodes, began)],
        "ours, hooks' start to exit": [ended - began],
        "ours, own share of batch node": [prologs[first].ended - max(pods.ready[pod] for pod in worker)],
        "ours, own share of others": ended_alone,
        "ours, release": [free - released],
        "ours, release beyond last pod": [free - max(pods.gone[pod] for pod in worker)],
        **busy,
        **census(_log(nodes), workload["metadata"]["name"], began),
    }
    return _Run(columns, workload, load, load_of_release)


def _load(nodes: Fleet, clock: Clock) -> Load:
    """Daemons and hooks, which a site has on processors of its nodes."""
    used, processes = clock.seconds(), len(nodes.daemons())
    return Load(processes, (used["daemons"] + used["hooks"]) / processes, LAST if nodes.together else 0)


def _hull(spans: dict[str, Span]) -> tuple[float, float]:
    return min(span.began for span in spans.values()), max(span.ended for span in spans.values())


def _created(nodes: Fleet, since: float) -> float:
    asked = (entry for entry in audit.entries(_log(nodes)) if received(entry) >= since and entry["verb"] == "create")
    return min(received(entry) for entry in asked if entry["objectRef"]["resource"] == "pytorchjobs")


def _log(nodes: Fleet) -> Path:
    return Path(str(nodes.stack.description["audit_log"]))


def at(count: int, *, rounds: int, quick: int) -> Figure:
    """Of so many nodes."""
    each = count <= _PROCESSES
    how = "real bridged and hooks" if each else f"engines of bridged, {TOGETHER} in a process, and hooks that are none,"
    return Figure(
        name=f"prolog-{count}",
        what=f"whole prolog and whole release of a job on {count} imitated nodes",
        unit="s",
        measuring=_measuring(count),
        nodes=count,
        bounds=tuple(_bounds(count, 1.10 if count <= _SHARE else 1.15)),
        rounds=rounds,
        quick=quick,
        notes=(
            f"{count} {how} share the processors of one machine; there is no slurmd and no slurmrestd",
            "kubectl: a process in each node's prolog, two one after the other, and one in each epilog",
            "as much computed beside: daemons and hooks of all nodes have this machine's processors, where each node of"
            " a site has its own; while this floor is measured as many processes as there are daemons compute for as"
            " long as daemons and hooks did, and do nothing else",
            "processors: how many each kept busy while the prologs ran, of all those of the machine",
            "requests: of one run of ours, by who asks the API server; writes: what etcd had to take of all of them",
        ),
    )


def _bounds(count: int, times: float) -> Iterator[Bound]:
    floor, script = "the floor does what Kubernetes needs and nothing else", "the script waits for it"
    yield Bound("ours, create to exit", than="floor", times=times, plus=0.025, why=floor, reason=_SHARED)
    crowded = "and the floor's servers then have no more of the processors than ours had"
    yield Bound(
        "ours, create to exit",
        than="floor, as much computed beside",
        times=times,
        plus=0.025,
        why=crowded,
        reason=_ALONE,
    )
    yield Bound("requests: bridge", plus=_REQUESTS * count, why="flat in the number of pods", reason=_REPEATED)
    if count <= _SHARE:
        yield Bound("ours, own share of batch node", plus=0.010, why=script, reason=_SHARED)
        yield Bound("ours, own share of others", plus=0.010, why=script, reason=_SHARED)
        yield Bound("ours, own share of others", plus=0.050, at=0.99, why=script, reason=_SHARED)
    idle = "until then the nodes stand idle"
    yield Bound("ours, release beyond last pod", plus=1.0, at=1.0, why=idle, reason=_SHARED)
    if 64 <= count <= _PEER:
        faster, release = "what anti-affinity costs the scheduler", "what deletion one by one costs"
        yield Bound("ours, create to exit", than="kubectl", times=1 / 8, why=faster, reason=_FLOOR)
        yield Bound("ours, release", than="kubectl, release", times=1 / 15, why=release, reason=_FLOOR)


FIGURES = (
    at(8, rounds=5, quick=1),
    at(64, rounds=5, quick=0),
    at(256, rounds=2, quick=0),
    at(1024, rounds=1, quick=0),
)
