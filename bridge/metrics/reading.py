"""What is read off the daemon when somebody asks: its runs, its connections, its journal, what is left over."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.core import CounterMetricFamily as CounterFamily
from prometheus_client.core import GaugeMetricFamily, Metric

from bridge import __version__, clock
from bridge.config import Config
from bridge.engine.breaker import opens
from bridge.engine.health import KUBERNETES
from bridge.engine.left import is_left
from bridge.engine.loop import Engine
from bridge.engine.orphans import State
from bridge.engine.reconciler import Report
from bridge.engine.state import Phase, Run
from bridge.errors import BridgeError
from bridge.kube.lifetimes import Life, of_certificate, of_token
from bridge.kube.standing import Standing
from bridge.slurmrest.service import ServiceToken
from bridge.store.journal import FILE
from bridge.wellknown import METRIC

Values = dict[tuple[str, ...], float]
"""By the values of the labels."""

_CA_LIMIT = 1024 * 1024  # bytes of a CA file that are looked at


@dataclass(frozen=True)
class View:
    """What there is to be read. Nothing here waits for a server, and nothing asks the engine's thread."""

    config: Config
    engine: Engine
    report: Callable[[], Report]
    standing: Callable[[], Standing]
    service: ServiceToken | None = None


class Reading:
    """A collector of `prometheus_client`: everything is found anew at each question."""

    def __init__(self, view: View) -> None:
        self._view = view

    def collect(self) -> Iterator[Metric]:
        """All families, each with at least its name."""
        yield _gauge("build_info", "The version that runs, as a label.", {(__version__,): 1.0}, "version")
        yield from self._runs()
        yield from self._servers()
        yield from self._journal()
        yield from self._left()
        lives = dict(self._lives())
        ends: Values = {(what,): life.ends for what, life in lives.items()}
        yield _gauge("expiry_timestamp_seconds", "When a credential or an authority ends.", ends, "what")
        begins: Values = {(what,): life.begins for what, life in lives.items() if life.begins}
        yield _gauge("valid_from_timestamp_seconds", "When its life began, where it says so.", begins, "what")

    def _runs(self) -> Iterator[Metric]:
        engine = self._view.engine
        runs, now = list(engine.runs.values()), clock.now()
        phases = Counter(run.phase for run in runs)
        yield _gauge(
            "known_runs",
            "Runs by phase, the last released ones among them.",
            {(phase.value,): float(phases[phase]) for phase in Phase},
            "phase",
        )
        oldest = {
            phase: max((now - _begin(run) for run in runs if run.phase is phase and _is_waited_for(run)), default=0.0)
            for phase in _SHORT
        }
        told: Values = {(phase.value,): age for phase, age in oldest.items()}
        yield _gauge("oldest_seconds", "How long the oldest run that slurmd waits for is in this phase.", told, "phase")
        yield _gauge("waiting_hooks", "Hooks of slurmd that wait for an answer.", engine.waiting_hooks)
        yield _gauge("turn_age_seconds", "Since the engine's last turn; it has one every five.", now - engine.beat)
        given_up = float(engine.last_fault is not None)
        yield _gauge("node_given_up", "1 while the last fault that drained this node has not been disproved.", given_up)
        unknown = CounterFamily(f"{METRIC}_unknown_observations", "What no row of the fault table describes.")
        unknown.add_metric([], engine.unknown().count)
        yield unknown

    def _servers(self) -> Iterator[Metric]:
        contacts, now = self._view.engine.contacts(), clock.now()
        down: Values = {
            _server(name): 0.0 if contact.down_since is None else max(0.0, now - contact.down_since)
            for name, contact in contacts.items()
        }
        yield _gauge(
            "server_down_seconds", "For how long a server has not answered; 0 if it does.", down, "server", "namespace"
        )
        opened = opens(self._view.config.timing, contacts.get(KUBERNETES))
        is_open = float(opened is not None and opened <= now)
        yield _gauge("breaker_open", "1 while new prologs do not wait for the API server.", is_open)
        ahead = self._view.standing().ahead
        told: Values = {} if ahead is None else {(): ahead}
        yield _gauge("clock_ahead_seconds", "This node's clock before the API server's.", told)

    def _journal(self) -> Iterator[Metric]:
        directory = self._view.config.journal_dir
        size = sum(_size(directory / f"{FILE}{end}") for end in ("", "-wal", "-shm"))
        yield _gauge("journal_bytes", "Size of the journal's files.", float(size))
        free: Values = {}
        with suppress(OSError):
            found = os.statvfs(directory)
            free[()] = float(found.f_bavail * found.f_frsize)
        yield _gauge("journal_free_bytes", "Room on its disk; a daemon that cannot write ends.", free)

    def _left(self) -> Iterator[Metric]:
        runs = self._view.engine.runs.values()
        report = self._view.report()
        states = Counter(item.state for item in report.findings)
        held = [run for run in runs if run.phase is Phase.RELEASE]
        yield _gauge(
            "leftover_processes",
            "Seen by the last scans of runs that end.",
            float(sum(len(run.leftovers) for run in held)),
        )
        unproven = sum(1 for run in held if run.epilog_answer is not None and _is_waited_for(run))
        yield _gauge("unproven_runs", "Runs that are not proven gone though their epilog has failed.", float(unproven))
        told: Values = {(state.value,): float(states[state]) for state in State}
        yield _gauge("workloads", "Workloads of this node by what the last look found.", told, "state")
        yield _gauge("stray_pods", "Pods on this node whose run was proven gone.", float(len(report.strays)))
        looked: Values = {(): clock.offset() + report.at} if report.at else {}
        yield _gauge("reconciled_timestamp_seconds", "When that look was.", looked)

    def _lives(self) -> Iterator[tuple[str, Life]]:
        standing, slurmrest = self._view.standing(), self._view.config.slurmrest
        found = {f"kubernetes {standing.kind}": standing.life}
        if self._view.service is not None:
            with suppress(BridgeError):  # its file cannot be used: `bridgectl status` says why
                found["slurm token"] = of_token(self._view.service.credential().token)
        if slurmrest is not None and slurmrest.ca_file is not None:
            found["slurmrestd authority"] = of_certificate(_head(slurmrest.ca_file))
        yield from ((what, life) for what, life in found.items() if life is not None)


_SHORT = (Phase.PROLOG, Phase.RELEASE)  # in which somebody waits


def _is_waited_for(run: Run) -> bool:
    """Whether slurmd waits for it, or has its node out of service: not for a run that its daemon has found to be over,
    which the next hook proves gone, nor for one that its hook has left."""
    return run.awaited if run.phase is Phase.RELEASE else not is_left(run)


def _begin(run: Run) -> float:
    """Of its phase."""
    return run.epilog_began if run.phase is Phase.RELEASE and run.epilog_began is not None else run.began


def _server(name: str) -> tuple[str, ...]:
    """The label's value, and the namespace where a credential of its own speaks, which the site's rules name."""
    server, _, namespace = name.partition(" in ")
    return server.lower(), namespace


def _gauge(name: str, told: str, value: float | Values, *labels: str) -> Metric:
    family = GaugeMetricFamily(f"{METRIC}_{name}", told, labels=labels)
    for key, number in (value if isinstance(value, dict) else {(): value}).items():
        family.add_metric(key, number)
    return family


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_CA_LIMIT)
    except OSError:
        return b""
