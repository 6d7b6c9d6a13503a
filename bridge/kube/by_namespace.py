"""One API server, reached in each namespace with the credential that counts there."""

from collections.abc import Callable, Iterator, Mapping
from threading import Event

from bridge.kube.api import Kubernetes, LogPiece, Object, Observation, Selector


class ByNamespace:
    """`bridge.kube.api.Kubernetes` of several credentials: ``own`` asks about Nodes, ``of`` gives the client of a
    namespace, or raises ConfigError where there is none that can be used."""

    def __init__(self, own: Kubernetes, of: Callable[[str], Kubernetes]) -> None:
        self._own = own
        self._of = of

    def identity(self) -> str:
        return self._own.identity()

    def node(self, name: str) -> Object:
        return self._own.node(name)

    def create_workload(self, namespace: str, manifest: Object) -> Object:
        return self._of(namespace).create_workload(namespace, manifest)

    def workload(self, namespace: str, name: str) -> Object:
        return self._of(namespace).workload(namespace, name)

    def list_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        return self._of(namespace).list_workloads(namespace, labels)

    def survey_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        return self._of(namespace).survey_workloads(namespace, labels)

    def delete_workload(self, namespace: str, name: str, uid: str) -> None:
        self._of(namespace).delete_workload(namespace, name, uid)

    def pod(self, namespace: str, name: str) -> Object:
        return self._of(namespace).pod(namespace, name)

    def list_pods(self, namespace: str, selector: Selector) -> list[Object]:
        return self._of(namespace).list_pods(namespace, selector)

    def patch_pod(self, namespace: str, name: str, patch: list[Object]) -> Object:
        return self._of(namespace).patch_pod(namespace, name, patch)

    def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        self._of(namespace).delete_pod(namespace, name, uid)

    def events_of(self, namespace: str, uid: str) -> list[Object]:
        return self._of(namespace).events_of(namespace, uid)

    def events_because(self, namespace: str, reason: str) -> list[Object]:
        return self._of(namespace).events_because(namespace, reason)

    def create_event(self, namespace: str, event: Object) -> Object:
        return self._of(namespace).create_event(namespace, event)

    def watch_pods(
        self, namespace: str, selector: Selector, stop: Event, current: bool = True
    ) -> Iterator[Observation]:
        return self._of(namespace).watch_pods(namespace, selector, stop, current)

    def watch_workload(self, namespace: str, name: str, stop: Event) -> Iterator[Observation]:
        return self._of(namespace).watch_workload(namespace, name, stop)

    def last_log(self, namespace: str, pod: str, container: str, lines: int) -> bytes:
        return self._of(namespace).last_log(namespace, pod, container, lines)

    def follow_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        after: str,
        stop: Event,
        is_over: Callable[[], bool] | None = None,
    ) -> Iterator[LogPiece]:
        return self._of(namespace).follow_log(namespace, pod, container, after, stop, is_over)
