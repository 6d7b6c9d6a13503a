"""The stack as chaos wants it: nodes that KWOK keeps, pods that are processes of ours, daemons behind proxies, hooks
that leave word of when they ran. Everything is put back in the end."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge import wellknown
from bridge.kube.transport import Transport
from tests.integration.detours import authority, kubeconfig, with_authority
from tests.integration.hands import EPILOG, PROLOG, before_hook
from tests.integration.nodes import is_whole
from tests.integration.stack import STACK, Stack, eventually

from .agent import STAMPS
from .arming import Arming
from .failing import with_failpoints
from .hands import Agent, Login, agents, login, logs, on_each
from .history import Conflict, History, Hook, OwnFault, Strike, Workload
from .kept import full_journals
from .kubelets import Kubelets
from .plan import PROLOG_DEADLINE, RECONCILE_PERIOD, Mix, PodLife, Server
from .proxy import Proxy
from .watch import Object, watching

_UNITS = ("kubelet", "gpu-plugin", "containerd")
# Seconds after a strike of each harm until the daemon is at its work again.
_HARMED = {"late": 1.0, "twice": 1.0, "fail": 1.0, "hang": 14.0, "kill": 15.0}
_USUAL_SHARES, _FEW_SHARES = 1024, 64  # of the processors, as Docker counts
_FAKE = "kwok.x-k8s.io/node"
_CA = "/etc/slurm-k8s-bridge/chaos-ca.pem"
# Bash reads its clock without starting a program.
_STAMP = (
    'echo "began {phase} $SLURM_JOB_ID $EPOCHREALTIME" >>{file}; "$0"; c=$?; '
    'echo "ended {phase} $SLURM_JOB_ID $EPOCHREALTIME $c" >>{file}; exit $c'
)
_LINES = f"exec bash -c '{_STAMP}' $hook"

Life = Callable[[list[str], int, int], PodLife]


@dataclass(frozen=True)
class Site:
    """What a run of chaos has its hands on."""

    stack: Stack
    history: History
    agents: dict[str, Agent]
    proxies: dict[Server, Proxy]
    kubelets: Kubelets
    arming: Arming
    user: Login
    root: Login


@contextmanager
def site(stack: Stack, mix: Mix, arming: Callable[[dict[str, Agent]], Arming], life: Life) -> Iterator[Site]:
    """As long as this lasts. `arming` of these agents' nodes; `life` is of the pod with this command, rank and run."""
    history = History(epilog_deadline=mix.epilog_deadline)
    scribe = Scribe(history)
    with ExitStack() as undone:
        undone.enter_context(_imitated(stack))
        undone.enter_context(_yielding(stack))  # only in between: kubelets that begin anew need what they can get
        proxies = undone.enter_context(_behind_proxies(stack, mix))
        if mix.old:
            undone.enter_context(full_journals(stack))
        undone.enter_context(with_failpoints(stack))
        undone.enter_context(logs(stack))
        hands = undone.enter_context(agents(stack, scribe.hear))
        scribe.arming = arming(hands)
        undone.enter_context(_stamped(stack))
        transport = undone.enter_context(closing(Transport(Path(str(stack.description["admin_kubeconfig"])), 10)))
        kubelets = scribe.kubelets = Kubelets(transport, hands, history, life)
        undone.callback(kubelets.end)
        jobs = f"/namespaces/{stack.namespace}"
        undone.enter_context(watching(stack, f"/api/v1{jobs}/pods", kubelets.take))
        undone.enter_context(watching(stack, f"/apis/kubeflow.org/v1{jobs}/pytorchjobs", scribe.take_workload))
        user, root = (undone.enter_context(login(stack, who)) for who in ("ml", "root"))
        yield Site(stack, history, hands, proxies, kubelets, scribe.arming, user, root)


class Scribe:
    """Writes into the history."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.kubelets: Kubelets | None = None
        self.arming: Arming | None = None

    def hear(self, node: str, line: dict[str, Any]) -> None:
        """A line of an agent."""
        match line:
            case {"event": "stamp", "line": text}:
                self._stamp(node, text.split())
            case {"event": "conflict", "pod": pod, "at": at}:
                self._history.conflicts.append(Conflict(node, at, pod))
            case {"event": "began" | "ended" as event, "pod": pod, "at": at}:
                assert self.kubelets is not None
                self.kubelets.hear(pod, event, at)
            case {"event": "struck", "name": name, "at": at, "hook": hook}:
                assert self.arming is not None
                self.arming.hear(node, name)
                self._struck(node, name, at, hook)
            case {"event": "ready", "at": at}:
                self._history.came(node, at)
                if self.arming is not None:  # else nothing has struck yet
                    self.arming.sparing.serves(node)
            case {"event": "misunderstood"}:
                raise AssertionError(line)

    def _struck(self, node: str, name: str, at: float, hook: list[str]) -> None:
        """A hook that fails is its node's own fault; a daemon that ends loses what it has in memory alone."""
        harm, history = name.partition("-")[0], self._history
        history.strikes.append(Strike(node, at, name))
        if "-hook." not in name:
            history.trouble(node, at, _HARMED[harm])
            if harm == "kill":
                history.went(node, at)
        elif harm in ("kill", "fail"):
            phase, job = hook
            history.fault(node, OwnFault(at, at, phase, int(job)))
        if name.endswith("-hook.token.mint") or (harm == "kill" and "-hook." not in name):
            history.tokenless.setdefault(node, []).append(at)

    def take_workload(self, told: Object, is_gone: bool) -> None:
        """What the API server tells of a PyTorchJob."""
        meta = told["metadata"]
        job = int(meta["labels"][wellknown.LABEL_JOB])
        known = self._history.workloads.setdefault(meta["uid"], Workload(meta["uid"], meta["name"], job, time.time()))
        if known.deleted is None and meta.get("deletionTimestamp"):
            known.deleted = time.time()
        if is_gone:
            known.gone = time.time()

    def _stamp(self, node: str, words: list[str]) -> None:
        match words:
            case ["tokenless", at]:
                self._history.tokenless.setdefault(node, []).append(float(at))
            case ["began", phase, job, at]:
                self._history.hooks.append(Hook(node, int(job), phase, float(at)))
            case ["ended", phase, job, at, code]:
                begun = (
                    each
                    for each in reversed(self._history.hooks)
                    if (each.node, each.job, each.phase, each.ended) == (node, int(job), phase, None)
                )
                hook = next(begun)
                hook.ended, hook.code = float(at), int(code)


@contextmanager
def _yielding(stack: Stack) -> Iterator[None]:
    """The API server does not wait for the nodes. Docker gives each container the same, and thirty nodes whose daemons
    begin anew left it so little that it answered after ten seconds: a fault that chaos knew nothing of. At a site it
    has a machine of its own."""
    try:
        _share(stack, _FEW_SHARES)
        yield
    finally:
        _share(stack, _USUAL_SHARES)


def _share(stack: Stack, shares: int) -> None:
    containers = [stack.container(node) for node in stack.nodes]
    subprocess.run(["docker", "update", f"--cpu-shares={shares}", *containers], check=True, capture_output=True)


@contextmanager
def _imitated(stack: Stack) -> Iterator[None]:
    """The nodes' own kubelets stand still, and KWOK keeps the nodes Ready."""
    try:
        # One by one: a kubelet that outlives its device plugin tells of no GPUs.
        on_each(stack, lambda node: [stack.exec(node, "systemctl", "stop", unit) for unit in _UNITS])
        stack.kubectl("-n", "kube-node-lease", "delete", "lease", *stack.nodes)
        stack.kubectl("annotate", "node", *stack.nodes, f"{_FAKE}=fake", "--overwrite")
        subprocess.run([STACK, "kwok", "start", "--bare"], check=True, stdout=sys.stderr)
        eventually(lambda: all(is_whole(stack, node) for node in stack.nodes), 90, "nodes that KWOK keeps")
        yield
    finally:
        subprocess.run([STACK, "kwok", "stop"], check=True, stdout=sys.stderr)
        stack.kubectl("annotate", "node", *stack.nodes, f"{_FAKE}-")
        on_each(stack, lambda node: stack.exec(node, "systemctl", "start", *reversed(_UNITS)))
        eventually(lambda: all(is_whole(stack, node) for node in stack.nodes), 90, "nodes with their own kubelets")


@contextmanager
def _behind_proxies(stack: Stack, mix: Mix) -> Iterator[dict[Server, Proxy]]:
    """The daemons reach the API server and slurmrestd by way of this process."""
    host = _in_network(stack, stack.nodes[0])["Gateway"]  # this machine
    pair = authority(host)
    run = Path(str(stack.description["run_dir"]))
    nodes = {_address(stack, node): node for node in stack.nodes}
    with ExitStack() as undone:
        kubernetes = Proxy(
            host,
            (_address(stack, "kube-apiserver"), 6443),
            "kube-apiserver",
            pair,
            str(run / "pki" / "kubernetes-ca.crt"),
            nodes,
        )
        undone.callback(kubernetes.close)
        slurm = Proxy(
            host,
            (_address(stack, "slurmrestd"), 6820),
            "slurmrestd",
            pair,
            str(run / "services" / "slurmrestd" / "slurmrestd-ca.pem"),
            nodes,
        )
        undone.callback(slurm.close)
        for node in stack.nodes:
            undone.enter_context(
                kubeconfig(stack, node, lambda text: _led(with_authority(text, pair[0]), host, kubernetes.port))
            )
            stack.exec(node, "sh", "-c", f"cat > {_CA}", stdin=pair[0])
            undone.callback(stack.exec, node, "rm", "-f", _CA)
        rest = {"url": f"https://{host}:{slurm.port}", "ca_file": _CA}
        timing = {
            "prolog_deadline": PROLOG_DEADLINE,
            "epilog_deadline": mix.epilog_deadline,
            "reconcile_period": RECONCILE_PERIOD,
            "node_patience": mix.node_patience,
            "boot_grace": 1,  # else GPUs that are gone are nobody's fault where the machine has just begun
        }
        changes = {"kubernetes": {"kubelet_healthz": "", "disks": []}, "timing": timing}
        mighty = stack.nodes[:: mix.administrator]  # a site that lets the bridge drain nodes, beside one that does not
        tier = undone.enter_context(stack.service_token("administrator", *mighty))
        undone.enter_context(stack.configured(*mighty, slurmrest=rest | tier | {"extend_time_limit": True}, **changes))
        others = [node for node in stack.nodes if node not in mighty]
        if others:  # none would mean all
            undone.enter_context(stack.configured(*others, slurmrest=rest, **changes))
        if mix.holds:
            undone.enter_context(stack.configured(*stack.nodes[:: mix.holds], on_job_fault="hold"))
        yield {Server.KUBERNETES: kubernetes, Server.SLURM: slurm}


def _led(text: str, host: str, port: int) -> str:
    """A kubeconfig that leads there."""
    return re.sub(r"(server: *).*", rf"\g<1>https://{host}:{port}", text)


def _address(stack: Stack, service: str) -> str:
    return str(_in_network(stack, service)["IPAddress"])


def _in_network(stack: Stack, service: str) -> dict[str, Any]:
    words = ["docker", "inspect", "--format", "{{json .NetworkSettings.Networks}}", stack.container(service)]
    networks = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    found: dict[str, Any] = next(iter(networks.values()))
    return found


@contextmanager
def _stamped(stack: Stack) -> Iterator[None]:
    with ExitStack() as undone:
        for node in stack.nodes:
            for phase, hook in (("prolog", PROLOG), ("epilog", EPILOG)):
                undone.enter_context(before_hook(stack, node, hook, _LINES.format(phase=phase, file=STAMPS)))
        yield
