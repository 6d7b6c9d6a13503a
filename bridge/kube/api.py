"""What the engine needs of Kubernetes, in the engine's words. `client.py` is the real one."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from threading import Event
from typing import Any, Protocol

LAST_LOG_LIMIT = 256 * 1024  # bytes: in JSON a byte may take six, and a frame holds 2 MiB

Object = dict[str, Any]  # one Kubernetes object as JSON


class Change(Enum):
    """What a watch says of an object. SYNCED carries no object: all that exist have been told."""

    SEEN = "seen"
    GONE = "gone"
    SYNCED = "synced"


@dataclass(frozen=True)
class Observation:
    """One event of a watch; ``object`` is the last state known (empty for SYNCED)."""

    change: Change
    object: Object


@dataclass(frozen=True)
class Selector:
    """Which objects: by name, by labels, or by the node they are bound to; empty fields do not select."""

    name: str = ""
    labels: Mapping[str, str] | None = None
    node: str = ""


@dataclass(frozen=True)
class LogPiece:
    """Whole lines of a container's output, or a part of a long one. ``position`` is where the log goes on behind them,
    as `Kubernetes.follow_log` takes it. ``gap``: no output, but a place where some may be missing."""

    position: str
    data: bytes
    gap: bool = False


class Kubernetes(Protocol):
    """Every call raises the errors of `bridge.errors` (Unavailable, Unauthenticated, Forbidden, Invalid,
    NotFound, Conflict) and nothing else, and ends within its own deadline."""

    def identity(self) -> str:
        """The Node that this credential is bound to, whatever this machine takes itself for; '' where it says none."""

    def node(self, name: str) -> Object: ...

    def create_workload(self, namespace: str, manifest: Object) -> Object: ...

    def workload(self, namespace: str, name: str) -> Object: ...

    def list_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]: ...

    def survey_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        """The metadata of all of them, cheap enough to be asked again and again. It may be out of a cache and old:
        it proves nothing, what it shows is to be looked at with `workload`."""

    def delete_workload(self, namespace: str, name: str, uid: str) -> None:
        """Foreground, with the uid as precondition; NotFound when it is gone already."""

    def pod(self, namespace: str, name: str) -> Object: ...

    def list_pods(self, namespace: str, selector: Selector) -> list[Object]:
        """A consistent list: all that etcd's quorum had when it was asked for, never an older cache."""

    def patch_pod(self, namespace: str, name: str, patch: list[Object]) -> Object:
        """A JSON patch (RFC 6902); Conflict/Invalid when one of its tests does not hold."""

    def delete_pod(self, namespace: str, name: str, uid: str) -> None: ...

    def events_of(self, namespace: str, uid: str) -> list[Object]:
        """Events about the object with this uid, oldest first."""

    def events_because(self, namespace: str, reason: str) -> list[Object]:
        """Events that give this reason, oldest first."""

    def create_event(self, namespace: str, event: Object) -> Object:
        """Conflict when there is one of this name."""

    def watch_pods(
        self, namespace: str, selector: Selector, stop: Event, current: bool = True
    ) -> Iterator[Observation]:
        """``current``: begins with what is there now; else with what the API server remembers. That may be older, and
        costs a busy server next to nothing: it asks etcd for nothing, and waits for nothing."""

    def watch_workload(self, namespace: str, name: str, stop: Event) -> Iterator[Observation]:
        """Both watches go on for ever: they reconnect, relist after a 410 and report what vanished in
        between as GONE. They end when ``stop`` is set, within a second. Trouble is logged, not raised."""

    def last_log(self, namespace: str, pod: str, container: str, lines: int) -> bytes:
        """The last lines of the container's output so far, at most LAST_LOG_LIMIT bytes; Invalid while it has not
        started, NotFound when the pod is gone."""

    def follow_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        after: str,
        stop: Event,
        is_over: Callable[[], bool] | None = None,
    ) -> Iterator[LogPiece]:
        """The output from the start of the container, or from the position ``after`` on, until the container
        has ended. Reconnects without loss or repetition; NotFound when the pod is gone. ``is_over``: whether a watch
        of the pod, whose container has started, has told by now that it has ended or is gone; so the API server is not
        asked for it, but after a fault."""


class Kubelet(Protocol):
    """The kubelet of this very machine, on loopback: what it says needs no API server."""

    def complaint(self) -> str:
        """Why it is not well, as a clause; '' when it is, or when the site has nobody to ask."""
