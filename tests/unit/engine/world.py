"""Some nodes, the Kubernetes and the Slurm that they share."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridge.config import Config
from bridge.kube.api import Kubernetes, Object
from bridge.store.journal import FILE
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubernetes import FakeKubernetes
from tests.fakes.slurmrest import FakeSlurmRest

from .clients import Job
from .node import Node, eventually
from .story import CONFIG

NAMESPACE = "slurm-jobs"


class World:
    """``cluster`` plays by itself: pods are made, run once they may, and go when they are deleted."""

    def __init__(self, root: Path) -> None:
        self.kube = FakeKubernetes()
        self.cluster = FakeCluster(self.kube)
        self.rest = FakeSlurmRest()
        self.nodes: dict[str, Node] = {}
        self._root = root
        self.cluster.play()

    def node(self, name: str = "n1", given: Config | None = None, **timing: float) -> Node:
        """A node that runs, with this configuration or these timings."""
        return self._node(name, given or config(**timing))

    def node_with(self, name: str, journal: Path) -> Node:
        """The same, with the journal that another daemon has left."""
        (self._root / name).mkdir()
        shutil.copy(journal, self._root / name)
        return self._node(name, config())

    def reconciling_node(self, given: Config) -> Node:
        """The same, and its daemon looks after its workloads by itself."""
        return self._node("n1", given, reconciles=True)

    def node_as(self, name: str, given: Config, own: Any, connect: Callable[[Path], Kubernetes]) -> Node:
        """The same: it reaches Kubernetes as ``own``, and by other kubeconfigs as ``connect`` says."""
        return self._node(name, given, kube=own, connect=connect)

    def _node(self, name: str, given: Config, reconciles: bool = False, kube: Any = None, **more: Any) -> Node:
        self.cluster.add_node(name, boot_id=f"boot-{name}", gpus=2)
        self.nodes[name] = Node(name, self._root / name, given, kube or self.kube, self.rest, reconciles, **more)
        return self.nodes[name].start()

    def successor(self, node: Node) -> Node:
        """A new daemon on the node of one that was stopped."""
        successor = Node(node.name, self._root / node.name, node.config, self.kube, self.rest, node.reconciles)
        successor.markers.update(node.markers)
        self.nodes[node.name] = successor
        return successor.start()

    def saved(self, node: Node, to: Path) -> Path:
        """A copy of the state directory of a node that ends."""
        node.stop()
        to.mkdir()
        for file in node.config.journal_dir.glob(f"{FILE}*"):
            shutil.copy(file, to)
        return to

    def anew(self, node: Node, saved: Path | None = None) -> Node:
        """A new daemon with an empty journal, or with what was saved of it."""
        node.stop()
        for file in node.config.journal_dir.glob(f"{FILE}*"):
            file.unlink()
        if saved is not None:
            shutil.copytree(saved, node.config.journal_dir, dirs_exist_ok=True)
        return self.successor(node)

    def wiped(self, node: Node, saved: Path | None = None) -> Node:
        """The same, and no marker is left."""
        node.markers.clear()
        return self.anew(node, saved)

    def job(self, *nodes: str, id: int = 7, start: int = 1_700_000_000, restart: int = 0, gpus: int = 2) -> Job:
        """A job that slurmctld has started."""
        job = Job(nodes or ("n1",), id, start, restart, gpus)
        self.rest.jobs[id] = job.record()
        return job

    def running(self, node: Node, job: Job) -> None:
        """Its prolog on its only node has ended well."""
        assert node.prolog(job).exit() == 0

    def says(self, job: Job, rank: int, *lines: str) -> None:
        """A rank prints."""
        self.kube.write_log(NAMESPACE, job.pod(rank), *(f"{line}\n".encode() for line in lines))

    def ends(self, job: Job, *codes: int) -> None:
        """The ranks end by themselves, rank 0 first."""
        for rank, code in enumerate(codes):
            self.cluster.end(job.pod(rank), code)

    def pods(self) -> list[Object]:
        """All pods, by name."""
        return sorted(self.kube.all("pod"), key=lambda pod: str(pod["metadata"]["name"]))

    def workloads(self) -> list[str]:
        """The names of those that are there."""
        return sorted(str(workload["metadata"]["name"]) for workload in self.kube.all("workload"))

    def workloads_ever(self) -> int:
        """How many there have been since the beginning."""
        return len(self.kube.uids_ever("workload"))

    def comment(self, job: Job) -> str:
        """The job's comment in slurmctld."""
        return self.rest.jobs[job.id].comment

    def calls(self, verb: str) -> int:
        """How often the API server was asked for this."""
        return self.kube.faults.calls.count(verb)

    @property
    def is_empty(self) -> bool:
        """Nothing of any run is left in Kubernetes."""
        return not self.kube.all("workload") and not self.kube.all("pod")

    def left_nothing(self) -> None:
        """No pod is there now. The workloads go a moment later: the garbage collector waits for the pods, and no epilog
        for the garbage collector."""
        assert self.kube.all("pod") == []
        eventually(lambda: self.is_empty)

    def end(self) -> None:
        """All daemons end."""
        for node in self.nodes.values():
            node.stop()


def config(**timing: float) -> Config:
    """The configuration of `story` with these timings."""
    return CONFIG.model_copy(update={"timing": CONFIG.timing.model_copy(update=timing)})
