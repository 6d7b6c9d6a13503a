"""Which credential speaks in a namespace: the node's own, or the one that the site's rules give it.

A configuration may have changed while runs live. What stands there now is the site's latest word, so it goes first;
where its file cannot be used, or the namespace stands there no more, those kubeconfigs serve with which the runs began
that are still there. All of them are of one API server, so what any of them sees gone is gone.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import structlog

from bridge.config import Config
from bridge.engine.state import Phase, Run
from bridge.errors import ConfigError, ForeignServer
from bridge.kube.api import Kubernetes

log = structlog.get_logger()


class Identities:
    """The clients of this node. Safe to use from many threads."""

    def __init__(
        self,
        config: Config,
        own: Kubernetes,
        connect: Callable[[Path], Kubernetes],
        runs: Callable[[], Iterable[Run]],
    ) -> None:
        """``own`` is the node's, ``connect`` makes the client of a kubeconfig or raises ConfigError; ``runs``: those
        that this daemon knows at the moment of the call."""
        self._config = config
        self._own = own
        self._connect = connect
        self._runs = runs
        self._lock = threading.Lock()
        self._connected: dict[Path, Kubernetes] = {}

    def check(self) -> None:
        """At a start: raises ForeignServer for a kubeconfig of another API server. One that cannot be used is none yet:
        only the jobs of its namespace have to wait for it."""
        for namespace in self._config.namespaces:
            path = self._config.kubeconfig_of(namespace)
            try:
                if path is not None:
                    self._client(path)
            except ForeignServer:
                raise
            except ConfigError as error:
                log.error("kubeconfig_unusable", namespace=namespace, error=str(error))

    def of(self, namespace: str) -> Kubernetes:
        """Whoever speaks in this namespace. Raises ConfigError where nobody can."""
        unusable: ConfigError | None = None
        for path in self._ways(namespace):
            try:
                return self._own if path is None else self._client(path)
            except ConfigError as error:
                unusable = unusable or error
        assert unusable is not None  # `_ways` names one at least
        raise unusable

    def _ways(self, namespace: str) -> Iterator[Path | None]:
        """Kubeconfigs, the best first; None is the node's own."""
        now = self._config.kubeconfig_of(namespace)
        is_named = namespace in self._config.namespaces
        if is_named:
            yield now
        live = (run.rules for run in self._runs() if run.phase is not Phase.RELEASED)
        begun = {place.kubeconfig for rules in live for place in rules.possible if place.namespace == namespace}
        yield from (path for path in map(Path, sorted(begun - {""})) if path != now)
        if not is_named:
            yield None

    def _client(self, path: Path) -> Kubernetes:
        with self._lock:
            if path not in self._connected:
                self._connected[path] = self._connect(path)
            return self._connected[path]
