"""Whether the API server and this node still take each other, asked where no run has asked for a while: so that
`bridgectl status` knows it before the next job does, and the breaker how long an outage has lasted."""

import threading

import structlog

from bridge import clock
from bridge.engine.health import KUBERNETES, Health
from bridge.errors import BridgeError, NotFound
from bridge.job.faults.servers import of_kubernetes
from bridge.kube.api import Kubernetes

log = structlog.get_logger()

_PERIOD = (
    60.0  # seconds without a word of the API server; a thousand nodes then ask it 17 times a second, out of memory
)
_TROUBLED = 5.0  # the same while it was none: what has been mended shows soon


class Pulse:
    """A thread of its own; posts nothing."""

    def __init__(self, kube: Kubernetes, node: str, health: Health) -> None:
        """``node``: its name in Kubernetes. What it asks for, its own Node, any run of it asks for, too."""
        self._kube = kube
        self._node = node
        self._health = health
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_on, name="pulse", daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """The daemon ends."""
        self._stop.set()

    def _keep_on(self) -> None:
        self.ask()
        while not self._stop.wait(_TROUBLED):
            self.ask()

    def ask(self) -> None:
        """One question, if it is time for one."""
        if self._is_due():
            self.look()

    def _is_due(self) -> bool:
        last = self._health.contacts().get(KUBERNETES)
        return last is None or clock.now() >= last.at + (_TROUBLED if last.fault else _PERIOD)

    def look(self) -> None:
        """One question, now."""
        found = failure = None
        try:
            self._kube.node(self._node)
        except NotFound:
            pass  # an answer as good as any; what it means for this node its next prolog finds out
        except BridgeError as error:
            found, failure = of_kubernetes(error), error
        self._tell_change("" if found is None else found.fault.name)
        self._health.heard(KUBERNETES, found, failure, clock.now())

    def _tell_change(self, now: str) -> None:
        last = self._health.contacts().get(KUBERNETES)
        if last is not None and last.row != now:
            log.info("kubernetes_connection", was=last.row or "good", row=now or "good")
