"""Kubelets of imitated nodes: KWOK keeps the nodes Ready, and this starts and ends what their pods are.

As on a real node a process is there before its pod is told to run, and no process begins once a pod is deleted. Unlike
a real kubelet that works it lets an object go before the process has ended, as often as not: so does a force deletion,
and so does the API server where a kubelet is away.
"""

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bridge import wellknown
from bridge.errors import Conflict, Invalid, NotFound, RemoteError
from bridge.kube.transport import Request, Transport

from .hands import Agent
from .history import History, OwnFault, Pod
from .plan import PodLife
from .watch import Object

_AGAIN = 0.5  # seconds until an API server that did not answer is asked again
_HANDS = 8
_GPU = "nvidia.com/gpu"
_GPUS = 2  # of each node
_MERGE = "application/merge-patch+json"


@dataclass
class _Ours:
    """A bound pod: how it is to live, and how far it has come."""

    pod: Pod
    path: str
    life: PodLife
    user: int
    is_deleted: bool = False
    runs: bool = False
    is_over: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Kubelets:
    """Of all nodes. `life` tells how the pod with this container's command, rank and run is to live."""

    def __init__(
        self,
        transport: Transport,
        agents: dict[str, Agent],
        history: History,
        life: Callable[[list[str], int, int], PodLife],
    ) -> None:
        self._transport, self._agents, self._history, self._life = transport, agents, history, life
        self._pods: dict[str, _Ours] = {}
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._changed = threading.Condition()
        self._is_over = False
        self._hands = ThreadPoolExecutor(_HANDS)
        self._clock = threading.Thread(target=self._run, name="kubelets")
        self._clock.start()

    def end(self) -> None:
        """Nothing begins any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._clock.join()
        self._hands.shutdown(cancel_futures=True)

    def take(self, told: Object, is_gone: bool) -> None:
        """What the API server tells of a pod."""
        uid, node = told["metadata"]["uid"], told["spec"].get("nodeName", "")
        if node not in self._agents:
            return
        ours = self._pods.get(uid)
        if ours is None:
            ours = self._pods[uid] = self._bound(told, node)
        if is_gone:
            ours.pod.gone = time.time()
        if (is_gone or "deletionTimestamp" in told["metadata"]) and not ours.is_deleted:
            self._delete(ours, is_gone)

    def take_gpus(self, node: str, seconds: float) -> None:
        """As where its device plugin has died: for so long it has none to give."""
        self._set_gpus(node, 0)
        self._after(seconds, lambda: self._set_gpus(node, _GPUS))

    def hear(self, pod: str, event: str, at: float) -> None:
        """What an agent tells of the process of a pod."""
        known = self._history.pods.get(pod)
        if known is None:
            return
        if event == "began":
            known.began = at
        elif event == "ended":
            known.ended = at

    def _bound(self, told: Object, node: str) -> _Ours:
        meta, spec = told["metadata"], told["spec"]
        rank = int(meta["labels"][wellknown.OPERATOR_LABEL_INDEX])
        job, run = meta["labels"][wellknown.LABEL_JOB], int(meta["labels"][wellknown.LABEL_RUN].rpartition("-")[2])
        pod = Pod(meta["uid"], meta["name"], int(job), node, time.time())
        self._history.pods[pod.uid] = pod
        life = self._life(spec["containers"][0]["command"], rank, run)
        user = spec.get("securityContext", {}).get("runAsUser", 65534)
        ours = _Ours(pod, f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", life, user)
        self._after(life.starts, lambda: self._start(ours))
        return ours

    def _start(self, ours: _Ours) -> None:
        with ours.lock:
            if ours.is_deleted:
                return
            ours.runs = True
            self._agents[ours.pod.node].say("start", ours.pod.uid, ours.user, ours.pod.name)
        self._tell(ours, _status("Running", ours.pod.name, {"running": {"startedAt": _now()}}))
        self._after(ours.life.runs, lambda: self._finish(ours))

    def _finish(self, ours: _Ours) -> None:
        """It has come to its own end."""
        with ours.lock:
            if ours.is_deleted or ours.is_over:
                return
            ours.is_over = True
            self._agents[ours.pod.node].say("end", ours.pod.uid)
        code = ours.life.code
        ended = {"terminated": {"exitCode": code, "finishedAt": _now(), "reason": "Error" if code else "Completed"}}
        self._tell(ours, _status("Failed" if code else "Succeeded", ours.pod.name, ended))

    def _delete(self, ours: _Ours, is_gone: bool) -> None:
        with ours.lock:
            ours.is_deleted = True
            if ours.runs and not ours.is_over:
                if ours.life.lingers > self._history.epilog_deadline:
                    now = time.time()
                    self._history.fault(ours.pod.node, OwnFault(now, now + ours.life.lingers))
                self._after(ours.life.lingers, lambda: self._end(ours))
        if not is_gone:
            self._after(ours.life.vanishes, lambda: self._let_go(ours))

    def _end(self, ours: _Ours) -> None:
        with ours.lock:
            if not ours.is_over:
                ours.is_over = True
                self._agents[ours.pod.node].say("end", ours.pod.uid)

    def _let_go(self, ours: _Ours) -> None:
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": ours.pod.uid}}
        self._ask(Request("DELETE", ours.path, body=body))

    def _tell(self, ours: _Ours, status: dict[str, Any]) -> None:
        body = {"metadata": {"uid": ours.pod.uid}, "status": status}
        self._ask(Request("PATCH", f"{ours.path}/status", body=body, content_type=_MERGE))

    def _set_gpus(self, node: str, count: int) -> None:
        body = {"status": {"allocatable": {_GPU: str(count)}}}
        self._ask(Request("PATCH", f"/api/v1/nodes/{node}/status", body=body, content_type=_MERGE))

    def _ask(self, request: Request) -> None:
        """Until somebody answers."""
        try:
            self._transport.call(request)
        except (NotFound, Conflict, Invalid):
            pass  # the pod is gone, or is another one of its name
        except RemoteError:
            self._after(_AGAIN, lambda: self._ask(request))

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._later, (time.monotonic() + seconds, next(self._count), act))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._is_over and not (self._later and self._later[0][0] <= time.monotonic()):
                    self._changed.wait(self._later[0][0] - time.monotonic() if self._later else None)
                if self._is_over:
                    return
                act = heapq.heappop(self._later)[2]
            self._hands.submit(act)


def _status(phase: str, name: str, state: dict[str, Any]) -> dict[str, Any]:
    """As a kubelet has it; who knows nothing of a pod's containers but their state needs no more."""
    runs = "True" if phase == "Running" else "False"
    conditions = [
        {"type": kind, "status": status, "lastTransitionTime": _now()}
        for kind, status in (
            ("PodScheduled", "True"),
            ("Initialized", "True"),
            ("ContainersReady", runs),
            ("Ready", runs),
        )
    ]
    container = {
        "name": wellknown.CONTAINER,
        "image": name,
        "imageID": "",
        "ready": phase == "Running",
        "restartCount": 0,
        "started": phase == "Running",
        "state": state,
    }
    return {"phase": phase, "startTime": _now(), "conditions": conditions, "containerStatuses": [container]}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
