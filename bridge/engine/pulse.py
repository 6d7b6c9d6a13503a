"""Whether the API server and this node still take each other, asked once a minute: so that `bridgectl status` knows it
before the next job does, the breaker how long an outage has lasted, and a run what its Node has just said."""

import random
import threading
from collections.abc import Callable

import structlog

from bridge import clock
from bridge.engine.health import KUBERNETES, Contact, Health
from bridge.engine.node_reading import NodeReadings
from bridge.errors import BridgeError, NotFound
from bridge.job.faults.servers import of_kubernetes
from bridge.kube.standing import Standing

log = structlog.get_logger()

_PERIOD = 60.0  # seconds between two questions; a thousand nodes then ask 17 times a second
_SOON = 5.0  # the same after an answer that was none, or where somebody looks: what has been mended shows
_SELDOM = 30.0  # the same in an outage that lasts


class Pulse:
    """A thread of its own; posts nothing."""

    def __init__(
        self, readings: NodeReadings, node: str, health: Health, standing: Callable[[], Standing] = Standing
    ) -> None:
        """``node``: its name in Kubernetes. What it asks for, its own Node, any run of it wants to know, too."""
        self._readings = readings
        self._node = node
        self._health = health
        self._standing = standing
        self._looked = clock.now()
        self._failures = 0
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
        self.begin()
        while not self._stopping:
            asked = self.ask(is_wanted)
            woken = self._woken.wait(_SOON * random.uniform(0.8, 1.2))
            is_wanted = woken or (is_wanted and not asked)
            self._woken.clear()

    def begin(self) -> None:
        """The first question; the second one anywhere in the period: nodes that began together part."""
        self.look()
        self._looked -= random.uniform(0.0, _PERIOD)

    def ask(self, is_wanted: bool = False) -> bool:
        """One question, if it is time for one."""
        last = self._health.contacts().get(KUBERNETES)
        due = None if last is None else min(last.at + self._pause(last, is_wanted), self._looked + self._pause(last))
        if due is None or clock.now() >= due:
            self.look()
            return True
        return False

    def _pause(self, last: Contact, is_wanted: bool = False) -> float:
        if is_wanted:
            return _SOON
        return min(_SOON * 2.0 ** min(max(self._failures - 1, 0), 10), _SELDOM) if last.fault else _PERIOD

    def look(self) -> None:
        """One question, now."""
        found = failure = None
        self._looked = clock.now()
        try:
            self._readings.take(self._node)
        except NotFound:
            pass  # an answer as good as any; what it means for this node its next prolog finds out
        except BridgeError as error:
            found, failure = of_kubernetes(error), error
        self._failures = 0 if failure is None else self._failures + 1
        self._tell_change("" if found is None else found.fault.name)
        self._health.heard(KUBERNETES, found, failure, clock.now())

    def _tell_change(self, now: str) -> None:
        last = self._health.contacts().get(KUBERNETES)
        if last is not None and last.row != now:
            log.info("kubernetes_connection", was=last.row or "good", row=now or "good")
