"""What is counted while it happens: how runs went, how long they waited, what the servers answered.

No label says whose run it was. Each has a handful of values of our own; `fault` has the rows of the fault table.
"""

from http import HTTPStatus

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from bridge.engine.state import Outcome, Run
from bridge.heard import Heard
from bridge.job.faults import Verdict
from bridge.wellknown import EXIT_INFRASTRUCTURE, EXIT_TERMINATED, METRIC

BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400)

WAITS = {
    "create": ("prolog", "created"),
    "start": ("opened", "ready"),
    "prolog": ("prolog", "answered"),
    "running": ("answered", "epilog"),
    "release": ("epilog", "released"),
}
"""By phase: between which two stations of a run (`engine.stations`)."""

STARTED = "started"
VERDICTS = (STARTED, *(verdict.value for verdict in Verdict if verdict is not Verdict.NONE))
OUTCOMES = ("succeeded", "failed", "ended", "infrastructure")
_CODES = frozenset(int(status) for status in HTTPStatus)


class Tally:
    """Counters since the daemon's start. Safe to use from many threads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more for each, of when the daemon began

        def counter(name: str, told: str, label: str, *more: str) -> Counter:
            return Counter(f"{METRIC}_{name}", told, (label, *more), registry=registry)

        self._runs = counter("runs_total", "Runs whose prolog was answered here, by verdict.", "verdict")
        self._faults = counter("faults_total", "Verdicts against runs, by row of the fault table.", "fault")
        self._trainings = counter("trainings_total", "Trainings that this node saw end, by outcome.", "outcome")
        self._requests = counter(
            "requests_total",
            "Requests by server, verb and status; code none where no answer came.",
            "server",
            "verb",
            "code",
        )
        self._waits = Histogram(
            f"{METRIC}_wait_seconds",
            "How long each phase of a run took.",
            ("phase",),
            registry=registry,
            buckets=BUCKETS,
        )
        for counted, values in ((self._runs, VERDICTS), (self._trainings, OUTCOMES), (self._waits, tuple(WAITS))):
            for value in values:  # from the first question on, so that the first one that happens is an increase
                counted.labels(value)

    def changed(self, before: Run | None, after: Run) -> None:
        """A run of this node has changed."""
        answered = before is not None and before.prolog_answer is None and after.prolog_answer is not None
        if answered and not after.adopted and after.unattended is None:
            self._runs.labels(STARTED if after.judgement is None else after.judgement.verdict.value).inc()
        if after.judgement is not None and (before is None or before.judgement != after.judgement):
            self._faults.labels(after.judgement.fault or "other").inc()
        if after.outcome is not None and (before is None or before.outcome is None):
            self._trainings.labels(outcome_of(after.outcome)).inc()
        self._wait(before, after)

    def of(self, server: str) -> Heard:
        """Who is told of the answers of this server."""

        def heard(verb: str, status: int | None) -> None:
            self._requests.labels(server, verb, _code(status)).inc()

        return heard

    def _wait(self, before: Run | None, after: Run) -> None:
        """Whichever station comes last: a watch may show what a request did before its own answer is there."""
        was = {} if before is None else before.stations
        if after.stations is was:
            return
        for phase, (begin, end) in WAITS.items():
            stations = {begin, end}
            if stations <= after.stations.keys() and not stations <= was.keys():
                self._waits.labels(phase).observe(max(0.0, after.stations[end] - after.stations[begin]))


def outcome_of(outcome: Outcome) -> str:
    """In one of the words of the label."""
    if outcome.exit_code == 0:
        return "succeeded"
    if outcome.exit_code == EXIT_INFRASTRUCTURE and outcome.fault:
        return "infrastructure"
    return "ended" if outcome.exit_code == EXIT_TERMINATED and outcome.fault else "failed"


def _code(status: int | None) -> str:
    """A server may answer with any number; those that mean something have a label of their own."""
    if status is None:
        return "none"
    return str(status) if status in _CODES else "other"
