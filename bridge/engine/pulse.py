"""Whether the API server and this node still take each other, asked where no run has asked for a while: so that
`bridgectl status` knows it before the next job does, and the breaker how long an outage has lasted."""

import threading
from collections.abc import Callable

import structlog

from bridge import clock
from bridge.engine.health import KUBERNETES, Health
from bridge.errors import BridgeError, NotFound
from bridge.job.faults.servers import of_kubernetes
from bridge.kube.api import Kubernetes
from bridge.kube.standing import Standing

log = structlog.get_logger()

_PERIOD = (
    60.0  # seconds without a word of the API server; a thousand nodes then ask it 17 times a second, out of memory
)
_SOON = 5.0  # the same while it was none, or where somebody looks: what has been mended shows


class Pulse:
    """A thread of its own; posts nothing."""

    def __init__(
        self, kube: Kubernetes, node: str, health: Health, standing: Callable[[], Standing] = Standing
    ) -> None:
        """``node``: its name in Kubernetes. What it asks for, its own Node, any run of it asks for, too."""
        self._kube = kube
        self._node = node
        self._health = health
        self._standing = standing
        self._woken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._keep_on, name="pulse", daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """The daemon ends."""
        self._stopping = True
        self._woken.set()

    def standing(self) -> Standing:
        """How this node's own credential is. Somebody wants to know: the API server is asked sooner, though not now,
        since it may be that it does not answer."""
        self._woken.set()
        return self._standing()

    def _keep_on(self) -> None:
        is_wanted = False
        while not self._stopping:
            self.ask(is_wanted)
            is_wanted = self._woken.wait(_SOON)
            self._woken.clear()

    def ask(self, is_wanted: bool = False) -> None:
        """One question, if it is time for one."""
        last = self._health.contacts().get(KUBERNETES)
        if last is None or clock.now() >= last.at + (_SOON if last.fault or is_wanted else _PERIOD):
            self.look()

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
