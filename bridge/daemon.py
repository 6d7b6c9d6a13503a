"""bridged: wires the parts, tells systemd how it is, ends cleanly on SIGTERM."""

import argparse
import faulthandler
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from bridge import __version__, clock, heard, logs, sdnotify, wellknown
from bridge.cli.main import add_config
from bridge.config import Config, load
from bridge.disks import Disks
from bridge.engine.adoption import Adopter
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.executor import Executor
from bridge.engine.hooks import HookDoor
from bridge.engine.identities import Identities
from bridge.engine.inbox import Stop
from bridge.engine.job_words import asking, asking_as_owner
from bridge.engine.logs import LogHub
from bridge.engine.loop import Engine
from bridge.engine.node_reading import NodeReadings
from bridge.engine.node_work import NodeWork
from bridge.engine.pulse import Pulse
from bridge.engine.reconciler import Reconciler
from bridge.engine.release_work import ReleaseWork
from bridge.engine.slurm_work import SlurmWork
from bridge.engine.state import Mark, Run
from bridge.engine.users import UserDoor
from bridge.errors import BridgeError, ConfigError
from bridge.job.ids import RunKey
from bridge.kube.api import Kubernetes
from bridge.kube.by_namespace import ByNamespace
from bridge.kube.client import KubernetesClient
from bridge.kube.kubelet import KubeletProbe
from bridge.slurmrest.client import SlurmRestClient
from bridge.slurmrest.service import service_token
from bridge.store.journal import Journal
from bridge.store.markers import Marker, all_there, marker, may_name
from bridge.wire.server import HOOKS, USERS, Server, listener

if TYPE_CHECKING:
    from bridge.metrics.office import Office

log = structlog.get_logger()

_STALLED = 20.0  # seconds without a turn of the engine after which the watchdog is no longer fed


def main(argv: list[str] | None = None) -> int:
    """Entry of `bridged`; the exit status."""
    options = parser().parse_args(argv)
    logs.configure(options.log_level)
    try:
        config = load(options.config)
        if options.check_config:
            print(f"{options.config}: good", file=sys.stdout)
            return 0
        return Daemon(config).run()
    except BridgeError as error:
        log.critical("cannot_run", error=str(error))
        print(f"bridged: {error}", file=sys.stderr)
        return 1


def parser() -> argparse.ArgumentParser:
    """Of the options."""
    options = argparse.ArgumentParser(prog="bridged", description="Node daemon of slurm-k8s-bridge.")
    add_config(options)
    options.add_argument(
        "--check-config", action="store_true", help="read the configuration, say what is wrong, and exit"
    )
    options.add_argument(
        "--log-level",
        default="info",
        choices=["debug", "info", "warning", "error"],
        help="the least that is told: info",
    )
    options.add_argument("--version", action="version", version=f"bridged {__version__}")
    return options


class Daemon:
    """Everything of one node, built from its configuration."""

    def __init__(self, config: Config) -> None:
        """Raises BridgeError when a part cannot be made."""
        node = config.cluster.kubernetes_node(socket.gethostname().partition(".")[0])
        self._office = _office(config)
        tally = None if self._office is None else self._office.tally
        kube, reached = self._kubernetes(config, heard.by_nobody if tally is None else tally.of("kubernetes"))
        hub = LogHub(kube)
        self._journal = Journal(config.journal_dir)
        watchers = [] if tally is None else [tally.changed]
        self._engine = Engine(config, self._journal, hub, _is_marked, _markers, *watchers)
        works = ClusterWork(config, kube, hub, self._engine.known).works()
        works |= ReleaseWork(config, kube, node, self._engine.known).works()
        kubelet, disks = KubeletProbe(config.kubernetes.kubelet_healthz), Disks(config.kubernetes.disks)
        readings = NodeReadings(kube)
        works |= NodeWork(config, kube, kubelet, disks.complaint, clock.boot_id(), reached, readings).works()
        service, ask, as_owner, rest = None, None, None, None
        if config.slurmrest is not None:
            told = heard.by_nobody if tally is None else tally.of("slurmrestd")
            rest, service = SlurmRestClient(config.slurmrest, told=told), service_token(config.slurmrest)
            works |= SlurmWork(config, rest, self._engine.credential, service).works()
            ask, as_owner = asking(rest, service), asking_as_owner(rest, self._engine.credential)
        adopter = Adopter(config, kube, self._runs, node, _marker, self._engine.happened, ask, rest)
        self._reconciler = Reconciler(
            config, kube, self._runs, node, ask, adopter.take_up, as_owner, _markers, self._engine.post
        )
        self._executor = Executor(works, self._engine.came)
        self._pulse = Pulse(readings, node, self._executor.health, self._standing)
        self._servers = [
            Server("hook", listener("hook", Path(wellknown.HOOK_SOCKET), 0o600), HookDoor(self._engine), HOOKS),
            Server(
                "user",
                listener("user", Path(wellknown.USER_SOCKET), 0o666),
                UserDoor(config, self._engine, hub, node, self._reconciler, adopter, service, self._pulse.standing),
                USERS,
            ),
        ]
        self._config, self._service = config, service
        self._stopping = threading.Event()

    def _kubernetes(self, config: Config, told: heard.Heard) -> tuple[Kubernetes, Callable[[str], Kubernetes]]:
        """The API server, reached everywhere as the site says; and who speaks in a namespace."""
        # A file that cannot be used yet is waited for: hooks are answered, and `status` says what is wrong with it.
        own = KubernetesClient(config.kubernetes, patient=True, told=told)

        def connect(kubeconfig: Path) -> Kubernetes:
            access = config.kubernetes.model_copy(update={"kubeconfig": kubeconfig})
            return KubernetesClient(access, own.server, told=told)

        identities = Identities(config, own, connect, lambda: self._runs().values())
        identities.check()
        self._standing = own.standing
        return ByNamespace(own, identities.of), identities.of

    def _runs(self) -> Mapping[RunKey, Run]:
        return self._engine.runs

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit status."""
        began = clock.now()
        faulthandler.enable()  # where every thread was, when the watchdog ends us; no values
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._engine.post(Stop()))
        # The libraries' objects stay for good, and a collection that looks at them all stops every thread for 50 ms.
        gc.freeze()
        self._engine.recover(self._executor)
        for server in self._servers:
            server.start()
        self._reconciler.start()
        self._pulse.start()
        signs_of_life = (self._engine_turns, self._stopping)
        threading.Thread(target=sdnotify.feed_watchdog, args=signs_of_life, name="watchdog", daemon=True).start()
        self._open_office()
        log.info("ready", version=__version__, pid=os.getpid(), seconds=round(clock.now() - began, 3))
        sdnotify.notify("READY=1")
        self._engine.run()
        sdnotify.notify("STOPPING=1")
        self._stopping.set()
        self._pulse.stop()
        self._reconciler.stop()
        for server in self._servers:
            server.stop()
        if self._office is not None:
            self._office.stop()
        log.info("stopped")
        return 0

    def _open_office(self) -> None:
        if self._office is not None:
            from bridge.metrics.reading import View

            report = lambda: self._reconciler.report  # noqa: E731
            self._office.start(View(self._config, self._engine, report, self._standing, self._service))

    def _engine_turns(self) -> bool:
        return clock.now() - self._engine.beat < _STALLED


def _office(config: Config) -> "Office | None":
    """Where metrics are kept. The library is loaded for sites alone that want them."""
    if config.metrics is None:
        return None
    from bridge.metrics.office import Office

    return Office(config.metrics)


def _is_marked(mark: Mark) -> bool:
    run = None if mark.start is None else (mark.restart, mark.start)
    return may_name(Path(wellknown.MARKER_DIR), mark.job_id, run)


def _marker(job_id: int) -> Marker | None:
    return marker(Path(wellknown.MARKER_DIR), job_id)


def _markers() -> dict[int, Marker | None]:
    """No marker where they cannot be read: then hooks, which are root, fail of it and say so."""
    try:
        return all_there(Path(wellknown.MARKER_DIR))
    except ConfigError as error:
        log.error("markers_unread", error=str(error))
        return {}


if __name__ == "__main__":
    sys.exit(main())
