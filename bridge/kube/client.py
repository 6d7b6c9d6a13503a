"""The API server as the engine sees it: `bridge.kube.api.Kubernetes` over HTTP."""

from collections.abc import Callable, Iterator, Mapping
from threading import Event
from urllib.parse import quote

from bridge import heard
from bridge.config.servers import KubernetesAccess
from bridge.errors import Conflict, NotFound
from bridge.kube.answers import slim
from bridge.kube.api import LAST_LOG_LIMIT, LogPiece, Object, Observation, Selector
from bridge.kube.listing import Listing
from bridge.kube.logs import LogFollower
from bridge.kube.standing import Standing
from bridge.kube.transport import JSON, METADATA_ONLY, Request, Transport
from bridge.kube.watch import Watch

_JSON_PATCH = "application/json-patch+json"
_CREATE_SHARE = 0.7  # of our own time-out: the server gives a create up before we do


class KubernetesClient:
    """Safe to use from many threads; not to be carried over a fork.

    Reads and deletes are repeated for a moment when the server does not answer; a create and a patch are not,
    since their answer would change: after Unavailable look before you try again.
    """

    def __init__(
        self, access: KubernetesAccess, server: str = "", patient: bool = False, told: heard.Heard = heard.by_nobody
    ) -> None:
        """``server``: the only API server that the kubeconfig may name, '' for any; ``told`` of each answer. Raises
        ConfigError when it cannot be used; ``patient``: each call does, until it can."""
        self._transport = Transport(access.kubeconfig, access.timeout, server, patient, told=told)
        self._listing = Listing(self._transport)

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._transport.server

    def close(self) -> None:
        """Closes idle connections. Watches and logs end by their own ``stop``."""
        self._transport.close()

    def standing(self) -> Standing:
        """How this node's credential and clock are to the API server, as far as the node sees it by itself."""
        return self._transport.standing()

    def identity(self) -> str:
        return self._transport.identity()

    def node(self, name: str) -> Object:
        return self._get(f"/api/v1/nodes/{quote(name)}")

    def create_workload(self, namespace: str, manifest: Object) -> Object:
        # Strict: a field that this CRD does not know would be pruned in silence. The server's own limit (a minute
        # by default) would let a slow webhook finish the create when we have long taken it for failed.
        limit = self._transport.patience() * _CREATE_SHARE
        query = {"fieldValidation": "Strict", "timeout": f"{limit * 1000:.0f}ms"}
        request = Request("POST", _workloads(namespace), query, manifest)
        return self._transport.call(request)

    def workload(self, namespace: str, name: str) -> Object:
        return self._get(_workload(namespace, name))

    def list_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        return self._list(_workloads(namespace), _query(Selector(labels=labels)))

    def survey_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        # resourceVersion 0: out of the API server's memory. Before 1.31 a consistent list reads all of it from etcd.
        query = {**_query(Selector(labels=labels)), "resourceVersion": "0"}
        return self._list(_workloads(namespace), query, METADATA_ONLY)

    def delete_workload(self, namespace: str, name: str, uid: str) -> None:
        self._delete(_workload(namespace, name), uid, {"propagationPolicy": "Foreground"})

    def pod(self, namespace: str, name: str) -> Object:
        return self._get(_pod(namespace, name))

    def list_pods(self, namespace: str, selector: Selector) -> list[Object]:
        return self._listing.whole(_pods(namespace), _query(selector))

    def patch_pod(self, namespace: str, name: str, patch: list[Object]) -> Object:
        request = Request("PATCH", _pod(namespace, name), body=patch, content_type=_JSON_PATCH)
        return self._transport.call(request)

    def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        # Not Foreground: a pod has no dependents, and the finalizer would only hold it up.
        self._delete(_pod(namespace, name), uid, {})

    def events_of(self, namespace: str, uid: str) -> list[Object]:
        return self._events(namespace, f"involvedObject.uid={uid}")

    def events_because(self, namespace: str, reason: str) -> list[Object]:
        return self._events(namespace, f"reason={reason}")

    def create_event(self, namespace: str, event: Object) -> Object:
        return slim(self._transport.call(Request("POST", _event_path(namespace), body=event)))

    def watch_pods(
        self, namespace: str, selector: Selector, stop: Event, current: bool = True
    ) -> Iterator[Observation]:
        return iter(Watch(self._transport, _pods(namespace), _query(selector), stop, current))

    def watch_workload(self, namespace: str, name: str, stop: Event) -> Iterator[Observation]:
        return iter(Watch(self._transport, _workloads(namespace), _query(Selector(name=name)), stop))

    def last_log(self, namespace: str, pod: str, container: str, lines: int) -> bytes:
        query = {"container": container, "tailLines": str(lines)}
        return self._transport.text(Request("GET", f"{_pod(namespace, pod)}/log", query))[-LAST_LOG_LIMIT:]

    def follow_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        after: str,
        stop: Event,
        is_over: Callable[[], bool] | None = None,
    ) -> Iterator[LogPiece]:
        return iter(LogFollower(self._transport, _pod(namespace, pod), container, after, stop, is_over))

    def _events(self, namespace: str, fields: str) -> list[Object]:
        return sorted(self._list(_event_path(namespace), {"fieldSelector": fields}), key=_happened)

    def _get(self, path: str) -> Object:
        return slim(self._transport.call(Request("GET", path)))

    def _list(self, path: str, query: Mapping[str, str], accept: str = JSON) -> list[Object]:
        return [slim(item) for items, _ in self._transport.pages(path, query, accept) for item in items]

    def _delete(self, path: str, uid: str, options: Mapping[str, str]) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}, **options}
        try:
            self._transport.call(Request("DELETE", path, body=body))
        except Conflict as error:
            # The precondition did not hold, or something else did not: only another uid proves ours gone.
            if self._get(path)["metadata"]["uid"] == uid:
                raise
            raise NotFound(f"{path} is another object now", status=404, reason="NotFound") from error


def _workloads(namespace: str) -> str:
    return f"/apis/kubeflow.org/v1/namespaces/{quote(namespace)}/pytorchjobs"


def _workload(namespace: str, name: str) -> str:
    return f"{_workloads(namespace)}/{quote(name)}"


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace)}/pods"


def _pod(namespace: str, name: str) -> str:
    return f"{_pods(namespace)}/{quote(name)}"


def _event_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace)}/events"


def _query(selector: Selector) -> dict[str, str]:
    """No resourceVersion: a list is read from etcd's quorum, not from a cache that may be behind."""
    fields = [("metadata.name", selector.name), ("spec.nodeName", selector.node)]
    query = {
        "fieldSelector": ",".join(f"{field}={value}" for field, value in fields if value),
        "labelSelector": ",".join(f"{key}={value}" for key, value in (selector.labels or {}).items()),
    }
    return {key: value for key, value in query.items() if value}


def _happened(event: Object) -> str:
    """When an event was last seen; events of newer reporters have only an eventTime."""
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((time for time in times if time), event["metadata"].get("creationTimestamp") or "")
