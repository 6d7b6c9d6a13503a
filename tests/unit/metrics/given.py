"""A registry that is told of a node of `World`, as `metrics.office` tells it of the daemon."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from bridge.engine.reconciler import Report
from bridge.kube.standing import Standing
from bridge.metrics.reading import Reading, View
from bridge.metrics.tally import Tally
from bridge.slurmrest.service import ServiceToken
from bridge.wellknown import METRIC
from tests.unit.engine.node import Node


class Given:
    """Values by name; ``report`` and ``standing`` are what a test says they are."""

    def __init__(self, node: Node, service: ServiceToken | None = None) -> None:
        self.registry = CollectorRegistry()
        self.tally = Tally(self.registry)
        self.report: Callable[[], Report] = lambda: node.reconciler.report
        self.standing = Standing()
        self.registry.register(Reading(View(node.config, node.engine, self._report, lambda: self.standing, service)))
        node.watchers.append(self.tally.changed)

    def _report(self) -> Report:
        return self.report()

    def value(self, name: str, **labels: str) -> float | None:
        """As Prometheus would have it; None where there is no such series."""
        return self.registry.get_sample_value(f"{METRIC}_{name}", labels)

    def series(self) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
        """All of them, but for their values."""
        return {
            (sample.name, tuple(sorted(sample.labels.items())))
            for family in self.registry.collect()
            for sample in family.samples
        }
