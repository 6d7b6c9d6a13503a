"""One job's way through prolog and epilog, with somebody at every station."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration import audit
from tests.integration.pod_watch import PodWatch
from tests.integration.specs import container_job
from tests.integration.stack import Job

from .stamps import Span, Stamps, stamped
from .world import World

# Ends at once when it is told to; the script ends when the bench has seen what it wants to see.
TRAINING = "trap 'exit 0' TERM; sleep 3600 & wait"
_SCRIPT = "until [ -e go ]; do sleep 0.1; done"
_AHEAD = 900_000  # numbers of runs that no Slurm knows begin here


@dataclass(frozen=True)
class Passage:
    """A job that has passed. ``workload`` as the API server showed it while it ran."""

    job: Job
    nodes: tuple[str, ...]
    workload: dict[str, Any]
    prologs: dict[str, Span]
    epilogs: dict[str, Span]

    @property
    def name(self) -> str:
        """Of the workload."""
        return str(self.workload["metadata"]["name"])

    def pod(self, node: str) -> str:
        """The pod on this node."""
        return f"{self.name}-worker-{self.nodes.index(node)}"


@dataclass(frozen=True)
class Way:
    """Who stands by it."""

    world: World
    stamps: Stamps
    pods: PodWatch

    def go(self, count: int = 1, spec: str = "", look: Callable[[], object] = lambda: None) -> Passage:
        """A job of so many nodes. `look` is called while it trains."""
        stack = self.world.stack
        nodes = tuple(stack.nodes[:count])
        spec = spec or container_job(stack.images["small"], TRAINING)
        job = stack.submit(spec, f"-N{count}", f"--nodelist={','.join(nodes)}", script=_SCRIPT, name="bench")
        prologs = {node: self.stamps.awaited("prolog", node, job) for node in nodes}
        (workload,) = stack.objects("pytorchjobs", f"slurm-k8s-bridge/job={job.id}")
        look()
        stack.exec("login", "touch", f"{job.directory}/go")
        epilogs = {node: self.stamps.awaited("epilog", node, job) for node in nodes}
        return Passage(job, nodes, workload, prologs, epilogs)

    def foreign(self) -> Job:
        """A job that is none of ours passes, too."""
        stack = self.world.stack
        job = stack.submit(None, "-N1", f"--nodelist={self.world.node}", script="true", name="bench")
        self.stamps.awaited("epilog", self.world.node, job)
        return job

    def asked(self, passage: Passage) -> list[dict[str, Any]]:
        """Every request of the bridge while this job passed: the only one then."""
        began = min(span.began for span in passage.prologs.values())
        ended = max(span.ended for span in passage.epilogs.values())
        log = Path(str(self.world.stack.description["audit_log"]))
        found = {entry["auditID"]: entry for entry in audit.entries(log) if began <= received(entry) <= ended}
        return list(found.values())


@contextmanager
def way(world: World) -> Iterator[Way]:
    """Stamps at the hooks, and a watcher of pods of its own."""
    with world.stack.watching_pods() as pods, stamped(world.stack) as stamps:
        yield Way(world, stamps, pods)


def received(entry: dict[str, Any]) -> float:
    """When the API server received a request, in seconds since the epoch."""
    return audit.at(entry["requestReceivedTimestamp"])


def another(workload: dict[str, Any], number: int) -> dict[str, Any]:
    """The same workload, as of a run that Slurm knows nothing of."""
    meta = workload["metadata"]
    job, name = meta["labels"]["slurm-k8s-bridge/job"], meta["name"]
    other = str(_AHEAD + number)
    kept = {key: workload[key] for key in ("apiVersion", "kind", "spec")}
    kept["metadata"] = {key: meta[key] for key in ("name", "namespace", "labels", "annotations")}
    text = json.dumps(kept).replace(name, name.replace(f"-{job}-", f"-{other}-"))
    made: dict[str, Any] = json.loads(text)
    template = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    for labels in (made["metadata"]["labels"], template["metadata"]["labels"]):
        if "slurm-k8s-bridge/job" in labels:
            labels["slurm-k8s-bridge/job"] = other
    return made
