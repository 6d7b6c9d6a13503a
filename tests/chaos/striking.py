"""Faults of the plan, as they strike the site."""

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.stack import Stack

from .history import OwnFault
from .plan import KILLING, ON_THE_WAY, SILENCING, Fault, Harm, Mix, faults
from .site import Site

# Times as long as other faults: a kubelet has its patience, and so has who looks at it; and two seconds and more are
# left to the garbage collector before anybody deletes pods in its stead.
_LONGER = {Harm.GPUS_GONE: 5.0, Harm.COLLECTOR: 3.0}
_RECOVERY = 15.0  # seconds that a server or a daemon has to be itself again
_SERVICES = {
    Harm.APISERVER: "kube-apiserver",
    Harm.SLURMCTLD: "slurmctld",
    Harm.SLURMRESTD: "slurmrestd",
    Harm.OPERATOR: "training-operator",
    Harm.SCHEDULER: "kube-scheduler",
    Harm.COLLECTOR: "kube-controller-manager",
}


class Faults:
    """Of a seed and a mix, and `gap` seconds between two on average. `struck`: those that were, with their times;
    `met`: what they met: requests on the way, daemons, servers."""

    def __init__(self, site: Site, seed: int, gap: float, mix: Mix) -> None:
        self.struck: list[tuple[float, Fault]] = []
        self.met = Counter[str]()
        self._site, self._seed, self._gap, self._mix = site, seed, gap, mix

    @contextmanager
    def striking(self) -> Iterator[None]:
        """As long as this lasts; nothing goes wrong any more behind it."""
        over = threading.Event()
        thread = threading.Thread(target=self._strike_all, args=(over,), name="faults")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self._clear()

    def _strike_all(self, over: threading.Event) -> None:
        began, nodes = time.monotonic(), self._site.stack.nodes
        for drawn in faults(self._seed, len(nodes), self._gap, self._mix):
            if over.wait(max(0.0, began + drawn.at - time.monotonic())):
                return
            fault = drawn.beside([self._site.arming.sparing.spares(node) for node in nodes])
            if fault is None:
                continue
            self.struck.append((time.time(), fault))
            self._note(fault)
            self._strike(fault)

    def _note(self, fault: Fault) -> None:
        """Whom it may keep from working, and how long; and who has no token then."""
        nodes, history = self._site.stack.nodes, self._site.history
        for node in nodes if fault.harm in _SERVICES else [nodes[fault.node]]:
            # Not `_length`: without GPUs, or the collector, a daemon is not kept from telling its jobs what it has to.
            history.trouble(node, time.time(), fault.seconds + _RECOVERY)
            if fault.harm in (Harm.DAEMON_KILLED, Harm.JOURNAL_LOST, Harm.SLURMCTLD):
                history.tokenless.setdefault(node, []).append(time.time())
            if fault.harm in SILENCING:
                self._site.arming.silenced(node)
            if fault.harm in KILLING:
                history.went(node, time.time())
            if fault.harm is Harm.DAEMON_FROZEN:
                history.went(node, time.time(), fault.seconds)
            if fault.harm is Harm.JOURNAL_LOST:
                history.forgot.setdefault(node, []).append(time.time())
            if fault.harm is Harm.GPUS_GONE:
                over = time.time() + _length(fault) + _RECOVERY
                history.fault(node, OwnFault(time.time(), over, "prolog"))

    def _strike(self, fault: Fault) -> None:
        node = self._site.stack.nodes[fault.node]
        if fault.harm in ON_THE_WAY:
            self._site.proxies[fault.server].strike(node, fault)
        elif fault.harm is Harm.DAEMON_KILLED:
            self._site.agents[node].say("kill")
        elif fault.harm is Harm.JOURNAL_LOST:
            self._site.agents[node].say("lose")
        elif fault.harm is Harm.DAEMON_FROZEN:
            self._site.agents[node].say("freeze", fault.seconds)
        elif fault.harm is Harm.GPUS_GONE:
            self._site.kubelets.take_gpus(node, _length(fault))
        elif fault.harm in (Harm.OPERATOR, Harm.SCHEDULER, Harm.COLLECTOR):
            _frozen(self._site.stack, _SERVICES[fault.harm], _length(fault))
        else:
            _anew(self._site.stack, _SERVICES[fault.harm])
        if fault.harm not in ON_THE_WAY:
            self.met[fault.harm.value] += 1

    def _clear(self) -> None:
        self._site.arming.clear()
        for server, proxy in self._site.proxies.items():
            proxy.clear()
            for weather in proxy.weathers.values():
                self.met.update({f"{server.value}: {harm.value}": count for harm, count in weather.met.items()})
        for service in _SERVICES.values():
            if not _is_running(self._site.stack, service):
                self._site.stack.docker("restart", service)


def _length(fault: Fault) -> float:
    """In seconds, of what lasts."""
    return _LONGER.get(fault.harm, 1.0) * fault.seconds


def _anew(stack: Stack, service: str) -> None:
    """kill -9, and started again at once. slurmctld is asked to end: killed it forgets the ends of jobs that it has not
    saved yet, and shows them as running until their time limit (seen with 24.11)."""
    container = stack.container(service)
    signal = "TERM" if service == "slurmctld" else "KILL"
    subprocess.run(["docker", "kill", f"--signal={signal}", container], check=True, capture_output=True)
    subprocess.run(["docker", "wait", container], check=True, capture_output=True)
    subprocess.run(["docker", "start", container], check=True, capture_output=True)
    if service == "kube-apiserver":
        # Its garbage collector was seen to do nothing any more after the API server had begun anew (1.36).
        stack.docker("restart", "kube-controller-manager")


def _frozen(stack: Stack, service: str, seconds: float) -> None:
    stack.docker("pause", service)
    time.sleep(seconds)  # the fault itself
    stack.docker("unpause", service)


def _is_running(stack: Stack, service: str) -> bool:
    words = ["docker", "inspect", "--format", "{{.State.Running}}", stack.container(service)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip() == "true"
