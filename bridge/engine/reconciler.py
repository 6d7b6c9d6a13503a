"""Nothing is left: every few minutes the workloads of this node's runs are compared with what journal and Slurm know.

Each node looks after those whose batch node it is, and has those on it adopted whose run its journal has lost. A thread
of its own reads the engine's runs, and never waits for the engine nor the engine for it. What it may do about what it
finds is decided in `orphans` and `adoption`; which runs of this node are over without an epilog, in `overdue`.
"""

import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

import structlog

from bridge import clock, wellknown
from bridge.config import Config
from bridge.engine import orphans, overdue
from bridge.engine.inbox import Happened
from bridge.engine.job_words import Ask, JobWords
from bridge.engine.orphans import Finding, JobWord, Runs, Seen, State
from bridge.engine.state import Phase
from bridge.errors import BridgeError, NotFound
from bridge.job.faults.runs import BRIDGE_BUG
from bridge.job.faults.servers import of_kubernetes
from bridge.job.ids import RunKey
from bridge.kube.api import Kubernetes, Object, Selector
from bridge.messages import workloads as messages
from bridge.store.markers import Marker

log = structlog.get_logger()

_FIRST_WITHIN = 30.0  # seconds: a whole fleet may have been started at once
_PAUSE = 2.0  # seconds between the two confirmations
_LIMIT = 200  # workloads of one node that are looked at; slurmctld is asked about as many at most
_KEPT_DELETED = 20


@dataclass(frozen=True)
class Stray:
    """A pod on this node whose run is released: it was proven gone, and is there (again)."""

    pod: str
    uid: str
    run: str


@dataclass(frozen=True)
class Deleted:
    """An orphan that was deleted: when (boot clock), its name, and the proof."""

    at: float
    name: str
    why: str


@dataclass(frozen=True)
class Report:
    """What the last look found. ``due`` has when an orphan will be deleted (boot clock), by uid; ``faults`` why
    something could not be seen or deleted; ``more`` how many workloads were left for the next look."""

    at: float = 0.0
    findings: tuple[Finding, ...] = ()
    due: Mapping[str, float] = field(default_factory=dict)
    strays: tuple[Stray, ...] = ()
    deleted: tuple[Deleted, ...] = ()
    more: int = 0
    faults: tuple[str, ...] = ()


class Reconciler:
    """Safe to use from many threads; one of them looks at a time."""

    def __init__(
        self,
        config: Config,
        kube: Kubernetes,
        runs: Callable[[], Runs],
        node: str,
        ask: Ask | None = None,
        take_up: Callable[[Seen], None] = lambda _: None,
        ask_as_owner: Callable[[RunKey], Ask | None] | None = None,
        markers: Callable[[], Mapping[int, Marker | None]] = dict,
        post: Callable[[Happened], None] = lambda _: None,
    ) -> None:
        """``runs`` gives the engine's runs as they are now, ``node`` this node's Kubernetes name; ``ask`` what
        slurmctld says of a job, None where it may not be asked about every job; ``take_up`` is given every workload on
        this node of whose run the journal knows nothing. Where ``ask`` is None, ``ask_as_owner`` asks about a run as
        long as its owner's token is there; ``markers`` gives those that there are, by job, None for a damaged one;
        ``post`` is told which runs are over."""
        self._config = config
        self._kube = kube
        self._runs = runs
        self._node = node
        self._ask = ask
        self._take_up = take_up
        self._ask_as_owner = ask_as_owner
        self._markers = markers
        self._post = post
        self._lost: tuple[Seen, ...] = ()
        self._over: tuple[tuple[Happened, str], ...] = ()
        self._turn = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_on, name="reconciler", daemon=True)
        self._since: dict[str, float] = {}
        self._deleted: deque[Deleted] = deque(maxlen=_KEPT_DELETED)
        self.report = Report()

    def start(self) -> None:
        """Begin to look, now and every few minutes."""
        self._thread.start()

    def stop(self) -> None:
        """No more looks; a request under way is let finish."""
        self._stop.set()

    def look(self) -> Report:
        """What there is now. Deletes nothing; raises the errors of `bridge.errors` when it cannot be seen."""
        with self._turn:
            return self._look()

    def collect(self) -> Report:
        """What there is now, after every orphan has been confirmed twice and deleted, without its grace."""
        with self._turn:
            return self._delete(self._look(), patience=0.0)

    def reconcile(self) -> None:
        """One look, the deletion of what is due, the adoption of what the journal has lost, and the end of runs that
        are over. Raises nothing: the report says why it could not be done."""
        try:
            with self._turn:
                self._delete(self._look(), self._config.timing.orphan_grace)
                self._adopt()
                self._end()
        except BridgeError as error:
            log.warning("reconcile_failed", error=str(error))
            self._tell(replace(self.report, faults=(of_kubernetes(error).sentence,)))
        except Exception:
            # A bug here must not end the thread: who would notice?
            log.exception("reconciler_bug")
            self._tell(replace(self.report, faults=(BRIDGE_BUG.finding("its reconciler").sentence,)))

    # -- the thread

    def _keep_on(self) -> None:
        period = self._config.timing.reconcile_period
        pause = random.uniform(0, min(_FIRST_WITHIN, period))
        while not self._stop.wait(pause):
            self.reconcile()
            pause = period * random.uniform(0.8, 1.2)

    def _tell(self, report: Report) -> Report:
        self.report = report
        return report

    # -- looking

    def _look(self) -> Report:
        before = self._runs()
        labels = {wellknown.LABEL_MANAGED: "true", wellknown.LABEL_TAG: self._config.cluster.tag}
        found, faults = self._survey(labels)
        of_node = [seen for item in found if self._node in (seen := orphans.seen(self._config, item)).nodes]
        mine = [seen for seen in of_node if seen.nodes[0] == self._node]
        words = JobWords(self._ask)
        looked_at = sorted(mine, key=lambda seen: seen.name)[:_LIMIT]
        findings = tuple(self._finding(seen, before, words) for seen in looked_at)
        self._lost = tuple(seen for seen in of_node if self._is_lost(seen, before))[:_LIMIT]
        at = clock.now()
        of_now = {item.seen.uid for item in findings if item.state is State.ORPHAN}
        self._since = {uid: self._since.get(uid, at) for uid in of_now}
        due = {uid: since + self._config.timing.orphan_grace for uid, since in self._since.items()}
        pods, unseen = self._pods()
        more, faults = max(0, len(mine) - _LIMIT), (*faults, *unseen)
        strays = _strays(before, pods)
        there = {str(item["metadata"]["name"]) for item in found} | {_run_of(pod) for pod in pods}
        self._over = tuple(self._overdue(before, words, None if faults else there))
        return self._tell(Report(at, findings, due, strays, tuple(self._deleted), more, faults))

    def _survey(self, labels: Mapping[str, str]) -> tuple[list[Object], tuple[str, ...]]:
        """The workloads of every namespace, and why those of some are not known. Raises the errors of `bridge.errors`
        for the usual namespace: without it there is nothing to look at."""
        found, faults = [], []
        for name in self._config.namespaces:
            try:
                found += self._kube.survey_workloads(name, labels)
            except BridgeError as error:
                if name == self._config.kubernetes.namespace:
                    raise
                faults.append(messages.NAMESPACE_UNKNOWN.sentence(namespace=name, why=error))
        return found, tuple(faults)

    def _finding(self, seen: Seen, before: Runs, words: JobWords) -> Finding:
        """By what the engine knew before the API server was asked, and by what it knows now: a run may have begun."""
        known = orphans.here(seen, before)
        if known is not None and known.state is State.LIVE:
            return known
        known = orphans.here(seen, self._runs())
        return known or orphans.by_word(self._config, seen, words.on(seen.key))

    def _is_lost(self, seen: Seen, before: Runs) -> bool:
        return orphans.here(seen, before) is None and orphans.here(seen, self._runs()) is None

    def _adopt(self) -> None:
        for lost in self._lost:
            self._take_up(lost)

    def _end(self) -> None:
        """As their epilogs would have."""
        for happened, why in self._over:
            log.warning("run_over_without_epilog", run=str(happened.key), job=happened.key.job_id, proof=why)
            self._post(happened)

    def _overdue(self, runs: Runs, words: JobWords, there: Set[str] | None) -> Iterator[tuple[Happened, str]]:
        """The end of each run that is over without an epilog, and the proof. ``there``: the runs of which Kubernetes
        has a workload, or a pod on this node; None where not all of that could be seen."""
        at = clock.now()
        markers, known = self._markers(), self._runs()
        lost = overdue.lost_runs(self._config, markers, known, self._node, at, clock.wall())
        for found in (*overdue.runs(self._config, runs, at), *lost):
            is_gone = there is not None and found.run.name not in there
            why = overdue.proof(self._config, found.run, self._word(found.end.key, words), is_gone=is_gone)
            if why:
                yield found.end, why

    def _word(self, key: RunKey, words: JobWords) -> JobWord | None:
        as_owner = None if self._ask_as_owner is None else self._ask_as_owner(key)
        return words.on(key) or JobWords(as_owner).on(key)

    def _pods(self) -> tuple[list[Object], tuple[str, ...]]:
        """The site's pods on this node, and why those of some namespaces are not known."""
        selector = Selector(labels={wellknown.LABEL_TAG: self._config.cluster.tag}, node=self._node)
        pods, faults = [], []
        for name in self._config.namespaces:
            try:
                pods += self._kube.list_pods(name, selector)
            except BridgeError as error:
                faults.append(messages.PODS_UNKNOWN.sentence(namespace=name, why=error))
        return pods, tuple(faults)

    # -- deleting

    def _delete(self, report: Report, patience: float) -> Report:
        """The report after every orphan that was seen as one for so long has been looked at again and deleted."""
        orphaned = [item for item in report.findings if item.state is State.ORPHAN]
        due = [item for item in orphaned if self._since[item.seen.uid] + patience <= report.at]
        if not due or self._stop.wait(_PAUSE):
            return report
        faults = list(report.faults)
        after = {}
        words = JobWords(self._ask)
        for item in due:
            try:
                after[item.seen.uid] = self._delete_confirmed(item.seen, words)
            except BridgeError as error:
                log.warning("orphan_not_deleted", **_whose(item.seen), workload=item.seen.name, error=str(error))
                faults.append(messages.ORPHAN_STAYS.sentence(workload=item.seen.name, why=error))
        findings = tuple(now for item in report.findings if (now := after.get(item.seen.uid, item)) is not None)
        return self._tell(replace(report, findings=findings, deleted=tuple(self._deleted), faults=tuple(faults)))

    def _delete_confirmed(self, seen: Seen, words: JobWords) -> Finding | None:
        """What the workload is at a second look; None when it is there no more, which may be by our hand."""
        try:
            again = orphans.seen(self._config, self._kube.workload(seen.namespace, seen.name))
            if again.uid != seen.uid:
                return None
            found = self._finding(again, self._runs(), words)
            if again != seen or found.state is not State.ORPHAN:
                return found
            # slurmctld's answer took time. A run that begins from here on makes a workload with another uid.
            known = orphans.here(again, self._runs())
            if known is not None and known.state is State.LIVE:
                return known
            self._kube.delete_workload(again.namespace, again.name, again.uid)
        except NotFound:
            return None
        log.info("orphan_deleted", **_whose(again), workload=again.name, uid=again.uid, proof=found.why)
        self._since.pop(again.uid, None)
        self._deleted.append(Deleted(clock.now(), again.name, found.why))
        return None


def _whose(seen: Seen) -> dict[str, object]:
    """Of a line in the log."""
    return {} if seen.key is None else {"run": str(seen.key), "job": seen.key.job_id}


def _strays(runs: Runs, pods: Iterable[Object]) -> tuple[Stray, ...]:
    """Pods of runs that were released before the API server was asked."""
    starts = {
        run.name: str(run.allocation.start_time)
        for run in runs.values()
        if run.phase is Phase.RELEASED and run.allocation is not None
    }
    return tuple(_stray(pod) for pod in pods if _start_of(pod) == starts.get(_run_of(pod)))[:_LIMIT]


def _stray(pod: Object) -> Stray:
    return Stray(str(pod["metadata"]["name"]), str(pod["metadata"]["uid"]), _run_of(pod))


def _run_of(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(wellknown.LABEL_RUN, ""))


def _start_of(pod: Object) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(wellknown.ANNOTATION_START, ""))
