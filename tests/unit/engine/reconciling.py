"""A reconciler alone: what it sees is put there, and its clock is turned by hand."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bridge import wellknown
from bridge.engine import events, reconciler
from bridge.engine.inbox import Happened
from bridge.engine.job_words import Ask
from bridge.engine.orphans import State
from bridge.engine.reconciler import Reconciler, Report
from bridge.engine.state import Mark, Phase, Run, new_run
from bridge.errors import NotFound
from bridge.job.ids import RunKey, run_labels
from bridge.kube.api import Object
from bridge.slurmrest.api import JobRecord
from bridge.store.markers import Marker
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, START, allocation, record
from .world import NAMESPACE

NODE = "compute1"


class Kubernetes(FakeKubernetes):
    """Something happens just before the second look at a workload."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] = lambda: None

    def workload(self, namespace: str, name: str) -> Object:
        self.meanwhile()
        return super().workload(namespace, name)


class Stage:
    """A reconciler, what it can see, and its boot clock in ``at``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kube = Kubernetes()
        self.runs: dict[RunKey, Run] = {}
        self.at = 1000.0
        self.asked: list[int] = []
        self.says: Callable[[int], JobRecord] = lambda _: record()
        self.ended: list[RunKey] = []
        self.markers: dict[int, Marker | None] = {}
        self.calendar = 0.0
        self._reconciler = self._made(None)
        monkeypatch.setattr(reconciler, "clock", SimpleNamespace(now=lambda: self.at, wall=lambda: self.calendar))

    def may_ask(self) -> "Stage":
        """The site has given it a service token."""
        self._reconciler = self._made(self._ask)
        return self

    def restart(self) -> None:
        """The daemon: its memory is lost."""
        self._reconciler = self._made(None)

    def may_ask_as_owner_of(self, key: RunKey) -> None:
        """The daemon has the token of this run's owner."""
        self._reconciler = self._made(None, lambda asked: self._ask if asked == key else None)

    def _made(self, ask: Ask | None, as_owner: Callable[[RunKey], Ask | None] | None = None) -> Reconciler:
        def post(happened: Happened) -> None:
            assert isinstance(happened.event, events.EpilogBegan)
            assert happened.of == Mark(happened.key.job_id, happened.key.restart, START)
            self.ended.append(happened.key)

        runs, markers = (lambda: self.runs), (lambda: self.markers)
        return Reconciler(CONFIG, self.kube, runs, NODE, ask, ask_as_owner=as_owner, markers=markers, post=post)

    def workload(self, job: int = 7, start: int = START, nodes: str = "compute1,compute2", tag: str = "demo") -> str:
        """A workload is there; its name."""
        labels = run_labels(tag, RunKey("demo", job, 0))
        notes = {wellknown.ANNOTATION_START: str(start), wellknown.ANNOTATION_NODES: nodes}
        name = labels[wellknown.LABEL_RUN]
        self.kube.put(
            "workload",
            {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": notes}, "spec": {}},
        )
        return name

    def run(self, phase: Phase, job: int = 7, start: int = START) -> None:
        """The journal knows this run."""
        run = replace(new_run(CONFIG, replace(allocation(), job_id=job, start_time=start), 1.0), phase=phase)
        self.runs = {**self.runs, run.key: run}

    def look(self) -> Report:
        return self._reconciler.look()

    def collect(self) -> Report:
        return self._reconciler.collect()

    def turn(self) -> Report:
        """The thread's turn."""
        self._reconciler.reconcile()
        return self._reconciler.report

    def turns(self, *, hours: float = 1.0) -> Report:
        """Turn after turn."""
        for _ in range(12):
            self.turn()
            self.at += hours * 300
        return self.turn()

    def states(self) -> dict[str, State]:
        return {item.seen.name: item.state for item in self._reconciler.report.findings}

    @property
    def left(self) -> list[str]:
        """The workloads that nobody has deleted."""
        return [
            str(item["metadata"]["name"])
            for item in self.kube.all("workload")
            if not item["metadata"].get("deletionTimestamp")
        ]

    def _ask(self, job: int) -> JobRecord:
        self.asked.append(job)
        return self.says(job)


def unknown(_job: int) -> JobRecord:
    """slurmctld does not know it."""
    raise NotFound("Slurm: Invalid job id specified (error 2017)", reason="2017")
