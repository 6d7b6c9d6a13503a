"""Many nodes on one machine: KWOK imitates their kubelets, bridged and hooks are real."""

import os
import resource
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge import clock, wellknown
from bridge.kube import kubeconfig
from bridge.kube.enrolment import Enrolment, token
from bridge.kube.transport import Request, Transport
from tests.integration.imitated import imitation, node
from tests.integration.specs import container_job
from tests.integration.stack import Stack

from .hook import Hook, client, converse_all, request, run_all
from .passage import TRAINING
from .processors import Used, children, of_own_children, of_processes, of_servers
from .stamps import Span

CLUSTER = "bench"
TOGETHER = 8
"""Engines in a process, where not each has its own: of more, each waits for the interpreter above all."""
_CHECKOUT = Path(__file__).parents[2]
_NOBODY = "65534"
_OURS = {"type": "kwok"}  # what is made for the fleet
_LIFE = 6 * 3600  # seconds of a token
_CLIENTS = 8  # that make nodes and credentials at once
_FRAMES = 16  # of a traced allocation: more of them make the import many times longer
_CONFIG = """
timeline_file = false
journal_dir = "{folder}/journal"
[cluster]
name = "{cluster}"
tag = "{cluster}"
[kubernetes]
kubeconfig = "{folder}/kubeconfig"
namespace = "{namespace}"
kubelet_healthz = ""
disks = []
[pod]
max_cpus = 2
max_memory = "4Gi"
"""


@dataclass(frozen=True)
class Fleet:
    """Nodes whose daemons are ready. `tokens` are their credentials, in the order of ranks; `together`: some daemons
    share a process, and hooks are no processes."""

    stack: Stack
    folder: Path
    tokens: dict[str, str]
    together: bool
    process: int
    """The one whose children they are."""

    @property
    def nodes(self) -> tuple[str, ...]:
        """In the order of ranks."""
        return tuple(self.tokens)

    def workers(self) -> dict[str, Used]:
        """Who leads a run."""
        daemons = of_processes([self.process, *self.daemons()])
        return {**of_servers(self.stack), "daemons": daemons, "hooks": of_own_children}

    def daemons(self) -> list[int]:
        """Their processes, which `process` has made."""
        return children(self.process)

    def hooks(self, phase: str, job: int) -> dict[str, Span]:
        """Of a job on all nodes, begun at once; by node."""
        told = {node: self._environment(job, node, self.nodes) for node in self.nodes}
        if self.together:
            first, spec = self.nodes[0], self.folder / "job.yaml" if phase == "prolog" else None
            asked = {node: request(phase, told[node], spec if node == first else None) for node in self.nodes}
            return converse_all({node: self.folder / node / "hook.sock" for node in self.nodes}, asked)
        return run_all({node: self._hook(phase, node, told[node]) for node in self.nodes})

    def hooks_of_many(self, phase: str, first: int) -> dict[str, Span]:
        """The same of as many jobs, each on a node of its own."""
        told = {node: self._environment(first + rank, node, (node,)) for rank, node in enumerate(self.nodes)}
        return run_all({node: self._hook(phase, node, told[node]) for node in self.nodes})

    def _hook(self, phase: str, node: str, told: dict[str, str]) -> Hook:
        own = self.folder / node
        return Hook(client(phase, str(_CHECKOUT), str(own)), told, own / "hook.out")

    def _environment(self, job: int, node: str, nodes: Sequence[str]) -> dict[str, str]:
        return {
            "SLURM_CLUSTER_NAME": CLUSTER,
            "SLURMD_NODENAME": node,
            "SLURM_JOB_NODELIST": ",".join(nodes),
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_START_TIME": str(job),  # the same for all its hooks
            "SLURM_JOB_UID": _NOBODY,
            "SLURM_JOB_GID": _NOBODY,
            "SLURM_JOB_USER": "nobody",
            "SLURM_JOB_PARTITION": "main",
            "SLURM_JOB_CPUS_PER_NODE": f"1(x{len(nodes)})",
            "SLURM_JOB_WORK_DIR": str(self.folder),
            "SLURM_JOB_COMMENT": "k8s=job.yaml",
        }


@contextmanager
def fleet(stack: Stack, count: int, *, together: bool = False, traced: Path | None = None) -> Iterator[Fleet]:
    """So many nodes, their daemons each in a process of its own, or some in each. What the memory of rank 0 was taken
    for goes to the file `traced` in the end."""
    names = [f"kwok-{number}" for number in range(count)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with ExitStack() as undone:
        undone.enter_context(imitation())
        transport = undone.enter_context(closing(Transport(Path(str(stack.description["admin_kubeconfig"])), 60)))
        uids = undone.enter_context(_nodes(stack, transport, names))
        folder = Path(undone.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        folder.chmod(0o755)  # the spec in it is read as the job's user
        (folder / "job.yaml").write_text(container_job(stack.images["small"], TRAINING))
        tokens = undone.enter_context(_enrolled(transport, uids))
        for name in names:
            _prepare(stack, folder / name, tokens[name])
        process = undone.enter_context(_daemons(folder, names, TOGETHER if together else 1, traced))
        yield Fleet(stack, folder, tokens, together, process)


@contextmanager
def _nodes(stack: Stack, transport: Transport, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Their uids."""
    try:
        made = _make(transport, "/api/v1/nodes", [_node(name) for name in names])
        stack.kubectl("wait", "--for=condition=Ready", "--timeout=300s", "nodes", "-l", "type=kwok")
        yield {node["metadata"]["name"]: node["metadata"]["uid"] for node in made}
    finally:
        _delete(transport, "/api/v1/nodes", "type=kwok")


def _make(transport: Transport, path: str, objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(_CLIENTS) as pool:
        return list(pool.map(lambda each: transport.call(Request("POST", path, body=each)), objects))


def _delete(transport: Transport, path: str, selector: str) -> None:
    """All at once: kubectl would do it one by one, which takes minutes for a thousand."""
    transport.call(Request("DELETE", path, {"labelSelector": selector}))


def _node(name: str) -> dict[str, Any]:
    """As of this very machine, which is what its daemon makes sure of."""
    made = node(name)
    made["metadata"]["labels"]["kubernetes.io/hostname"] = name
    made["status"]["nodeInfo"] = {"bootID": clock.boot_id()}
    return made


@contextmanager
def _enrolled(transport: Transport, uids: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Each node's own credential, as `bridgectl node enroll` gives it, but the bindings are written once for all."""
    enrolment = Enrolment(transport)
    accounts = [
        {
            "metadata": {"name": name, "labels": {wellknown.LABEL_ENROLLED: "nodes", **_OURS}},
            "automountServiceAccountToken": False,
        }
        for name in uids
    ]
    path = f"/api/v1/namespaces/{wellknown.ACCOUNTS}/serviceaccounts"
    try:
        _make(transport, path, accounts)
        enrolment.bind()
        with ThreadPoolExecutor(_CLIENTS) as pool:
            tokens = pool.map(lambda name: token(transport, name, name, uids[name], _LIFE), uids)
            found = dict(zip(uids, tokens, strict=True))
        yield found
    finally:
        _delete(transport, path, ",".join("=".join(label) for label in _OURS.items()))
        enrolment.bind()


def _prepare(stack: Stack, folder: Path, token: str) -> None:
    for name in ("journal", "runs"):
        (folder / name).mkdir(parents=True)
    server, authority = kubeconfig.address(Path(str(stack.description["admin_kubeconfig"])))
    kubeconfig.replace(folder / "kubeconfig", kubeconfig.written(server, authority, token))
    text = _CONFIG.format(folder=folder, cluster=CLUSTER, namespace=stack.namespace)
    (folder / "bridge.toml").write_text(text)


@contextmanager
def _daemons(folder: Path, names: Sequence[str], in_one: int, traced: Path | None) -> Iterator[int]:
    """Their daemons; until all have said that they are ready."""
    with ExitStack() as undone, closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as ears:
        ears.bind(str(folder / "ready"))
        ears.settimeout(300)
        environment = {**os.environ, **_of_unit(), "NOTIFY_SOCKET": str(folder / "ready"), "TRACED": str(traced or "")}
        log = undone.enter_context((folder / "daemons.log").open("wb"))
        tracing = ["-X", f"tracemalloc={_FRAMES}"] if traced else []
        words = [sys.executable, *tracing, "-m", "tests.bench.daemons", str(in_one), str(folder), *names]
        process = subprocess.Popen(words, cwd=_CHECKOUT, env=environment, stdout=log, stderr=log)
        undone.callback(_end, process)  # behind the ears' end: what nobody hears must keep nobody
        missing = len(names)
        while missing:
            missing -= ears.recv(64) == b"READY=1"
        ears.close()
        yield process.pid


def _of_unit() -> dict[str, str]:
    """What systemd gives the daemon."""
    lines = (_CHECKOUT / "packaging/systemd/slurm-k8s-bridge.service").read_text(encoding="utf-8").splitlines()
    told = (line.partition("=")[2] for line in lines if line.startswith("Environment="))
    return dict(each.split("=", 1) for each in told)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
