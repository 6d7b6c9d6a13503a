"""Where the daemon's metrics are kept: one registry of our own, and the ways out of it that the site has chosen.

No trouble with metrics ever stops the daemon: it is told in the log, and the node goes on without.
"""

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from bridge.config.metrics import Metrics
from bridge.messages.bridged import METRICS_UNHEARD
from bridge.metrics.reading import Reading, View
from bridge.metrics.serving import Answerer
from bridge.metrics.tally import Tally
from bridge.metrics.textfile import Textfile
from bridge.wellknown import METRIC

log = structlog.get_logger()


class Office:
    """`tally` counts from the beginning; what there is to read is shown to it at `start`."""

    def __init__(self, config: Metrics) -> None:
        self._config = config
        self._registry = CollectorRegistry()
        self._ways: list[Answerer | Textfile] = []
        self.tally = Tally(self._registry)
        ProcessCollector(namespace=METRIC, registry=self._registry)

    def start(self, view: View) -> None:
        """Everybody may ask from now on."""
        self._registry.register(Reading(view))
        if self._config.textfile_directory is not None:
            self._ways.append(Textfile(self._config.textfile_directory, self._config.textfile_period, self.text))
        if self._config.listen is not None:
            try:
                self._ways.append(Answerer(self._config.listen, self.text))
            except OSError as error:
                told = METRICS_UNHEARD.sentence(address=self._config.listen, why=error)
                log.error("metrics_unheard", address=self._config.listen, error=told)
        for way in self._ways:
            way.start()

    def stop(self) -> None:
        """The daemon ends."""
        for way in self._ways:
            way.stop()

    def text(self) -> bytes:
        """All metrics, as Prometheus reads them."""
        return generate_latest(self._registry)
