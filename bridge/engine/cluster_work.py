"""The activities that make a run's objects in Kubernetes and watch them."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Literal

from bridge import clock, wellknown
from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.belongings import home_of, is_of, name_of, start_of
from bridge.engine.executor import Task, Work
from bridge.engine.logs import LogHub
from bridge.engine.state import Phase, Run, Workload
from bridge.errors import Conflict, Forbidden, Invalid, NotFound, RemoteError
from bridge.job.faults import Finding, Verdict, admission, observed, runs
from bridge.job.faults.pod_events import PodEvent, telling
from bridge.job.ids import RunKey
from bridge.job.pods import PodFacts, pod_facts, workload_facts
from bridge.job.words import plain
from bridge.kube.api import Change, Kubernetes, Object, Selector

_EVENTS_PAUSE, _EVENTS_LONGEST = 5.0, 60.0  # seconds between two looks at the events of a pod: the first, and at most


class ClusterWork:
    """The beginning and the life of runs in Kubernetes. Every method does one activity and returns what came of it."""

    def __init__(self, config: Config, kube: Kubernetes, hub: LogHub, runs: Callable[[], Iterable[Run]]) -> None:
        """``runs``: those that this daemon knows at the moment of the call."""
        self._config = config
        self._kube = kube
        self._hub = hub
        self._runs = runs

    def works(self) -> dict[type[do.Activity], Work]:
        """Which method does which activity."""
        return {
            do.CreateWorkload: _of(self._create),
            do.WatchWorkload: _of(self._watch_workload),
            do.LookForWorkload: _of(self._look_for_workload),
            do.WatchPods: _of(self._watch_pods),
            do.OpenGate: _of(self._open_gate),
            do.ReadRefusals: _of(self._read_refusals),
            do.FollowEvents: _of(self._follow_events),
            do.FollowLog: _of(self._follow_log),
        }

    # -- before the pods

    def _create(self, task: Task, activity: do.CreateWorkload) -> events.Event:
        manifest: Object = json.loads(activity.manifest)
        try:
            created = self._kube.create_workload(home_of(self._config, task.run), manifest)
        except Conflict:
            return self._recognise(task.run, manifest)
        except RemoteError as error:
            found = admission.of_creation(error)
            if found is None:
                raise
            return self._lost_one(task.run, manifest) or _refused(found)
        return self._taken(task.run, created)

    def _taken(self, run: Run, workload: Object) -> events.Event:
        """The workload is ours, and no pod of it can start but through the gate."""
        facts = workload_facts(workload)
        if not facts.gated:
            self._kube.delete_workload(home_of(self._config, run), name_of(workload), facts.uid)
            raise observed(admission.CRD_TOO_OLD.finding("it dropped the field"))
        return events.WorkloadCreated(clock.now(), facts.uid)

    def _lost_one(self, run: Run, manifest: Object) -> events.Event | None:
        """What an earlier try made whose answer was lost. Admission comes before the name is looked at, and it may be
        this very one that fills the quota."""
        with suppress(NotFound, Forbidden):
            existing = self._kube.workload(home_of(self._config, run), name_of(manifest))
            if _is_same(existing, manifest):
                return self._taken(run, existing)
        return None

    def _recognise(self, run: Run, manifest: Object) -> events.Event:
        """The name is taken: by our own lost answer, or by an older run of a job id that came back."""
        name = name_of(manifest)
        existing = self._kube.workload(home_of(self._config, run), name)
        if _is_same(existing, manifest):
            return self._taken(run, existing)
        facts = workload_facts(existing)
        labels = (existing.get("metadata") or {}).get("labels") or {}
        if labels.get(wellknown.LABEL_RUN) != run.name:
            raise observed(runs.NAME_TAKEN.finding(name))
        if not facts.deleting:
            with suppress(Forbidden):  # of a run of other nodes: they delete it
                self._kube.delete_workload(home_of(self._config, run), name, facts.uid)
        raise observed(runs.PREDECESSOR.finding(name))

    def _open_gate(self, task: Task, activity: do.OpenGate) -> events.Event | None:
        namespace = home_of(self._config, task.run)
        try:
            self._kube.patch_pod(namespace, activity.pod, json.loads(activity.patch))
        except NotFound:
            return None
        except (Conflict, Invalid):
            facts = pod_facts(self._kube.pod(namespace, activity.pod))
            if facts is None or facts.uid != activity.uid:
                return None
            if facts.gate is not None:
                raise
        return events.GateOpened(clock.now(), activity.uid)

    def _read_refusals(self, task: Task, activity: do.ReadRefusals) -> events.Event:
        for event in reversed(self._kube.events_of(home_of(self._config, task.run), activity.uid)):
            if event.get("reason") == "FailedCreatePod":
                return _refused(admission.of_pod_creation(str(event.get("message") or "")))
        raise observed(runs.OPERATOR_SILENT.finding("not all pods yet"))

    # -- watching

    def _watch_workload(self, task: Task, activity: do.WatchWorkload) -> None:
        start, home = start_of(task.run), activity.namespace or home_of(self._config, task.run)
        known = task.run.workload in (Workload.LIVE, Workload.DELETING)
        last: object = None
        for change in self._kube.watch_workload(home, activity.name, task.stop):
            facts = workload_facts(change.object) if change.object else None
            if change.change is Change.SYNCED:
                if known and last is None:
                    task.post(events.WorkloadGone(clock.now()))
                _tell_listed(task, "workload", activity.namespace)
            if facts is None or (start and facts.start != start):
                continue
            if change.change is Change.GONE:
                task.post(events.WorkloadGone(clock.now()))
            elif facts != last:
                task.post(events.WorkloadSeen(clock.now(), facts, _where(task.run, activity.namespace)))
            last = facts

    def _look_for_workload(self, task: Task, activity: do.LookForWorkload) -> events.Event | None:
        """What is not there is no news before it was: the batch node may be about to make it. That it is still there is
        none, either. In the release both are."""
        run, ends = task.run, task.run.phase is Phase.RELEASE
        for home in run.rules.homes:
            with suppress(NotFound):
                facts = workload_facts(self._kube.workload(home or home_of(self._config, run), activity.name))
                if not start_of(run) or facts.start == start_of(run):
                    known = (facts.uid, facts.failed) == (run.workload_uid, run.workload_failed)
                    if known and not facts.deleting and not ends:
                        return None
                    return events.WorkloadSeen(clock.now(), facts, _where(run, home))
        return events.WorkloadGone(clock.now()) if run.workload_uid or ends else None

    def _watch_pods(self, task: Task, activity: do.WatchPods) -> None:
        selector = Selector(name=activity.pod, labels={wellknown.LABEL_RUN: activity.name})
        view = _PodView(task, activity)
        home = activity.namespace or home_of(self._config, task.run)
        # A release believes no watch that its pod is gone: `ProveGone` asks for what is there now. What a daemon that
        # has lost its journal finds is another thing.
        current = task.run.phase is not Phase.RELEASE or task.run.unattended is not None
        for change in self._kube.watch_pods(home, selector, task.stop, current):
            view.tell(change.change, change.object)

    def _follow_events(self, task: Task, activity: do.FollowEvents) -> None:
        pause, said = 0.0, PodEvent("", "", "")
        while not task.stop.wait(pause):
            seen = self._kube.events_of(home_of(self._config, task.run), activity.uid)
            told = telling(map(_pod_event, seen)) or PodEvent("", "", "")
            if told != said:
                task.post(events.PodTold(clock.now(), activity.rank, activity.uid, told.reason, told.message))
            said, pause = told, min(max(2 * pause, _EVENTS_PAUSE), _EVENTS_LONGEST)

    def _follow_log(self, task: Task, activity: do.FollowLog) -> None:
        run, home = task.run, home_of(self._config, task.run)
        over, reader = partial(self._is_over, run.key, activity), run.may_have_reader
        self._hub.follow(run.key, activity.rank, home, activity.pod, task.stop, over, has_reader=reader)

    def _is_over(self, key: RunKey, activity: do.FollowLog) -> bool:
        """As the watch of the pods has told by now, of just this pod."""
        run = next((run for run in self._runs() if run.key == key), None)
        pod = None if run is None else run.pods.get(activity.rank)
        if run is None or pod is None or pod.uid != activity.uid:
            return False
        return pod.over or pod.phase in ("Failed", "Succeeded") or activity.rank in run.lost


class _PodView:
    """Turns what a pod watch tells into events, each fact once, and misses no pod that vanished unseen."""

    def __init__(self, task: Task, activity: do.WatchPods) -> None:
        self._task = task
        self._activity = activity
        self._start = start_of(task.run)
        self._last: dict[int, PodFacts] = {}
        self._unseen = {rank: pod.uid for rank, pod in task.run.pods.items() if rank not in task.run.lost}

    def tell(self, change: Change, pod: Object) -> None:
        """One observation."""
        if change is Change.SYNCED:
            self._tell_vanished()
            _tell_listed(self._task, "pods", self._activity.namespace)
        elif change is Change.GONE:
            self._tell_gone(pod["metadata"])
        else:
            facts = pod_facts(pod)
            if facts is not None and is_of(self._task.run, pod):
                self._tell_seen(facts)

    def _tell_seen(self, facts: PodFacts) -> None:
        if self._unseen.get(facts.rank) == facts.uid:
            del self._unseen[facts.rank]
        if self._last.get(facts.rank) != facts:
            self._last[facts.rank] = facts
            self._task.post(events.PodSeen(clock.now(), facts, _where(self._task.run, self._activity.namespace)))

    def _tell_gone(self, meta: Object) -> None:
        """Of a pod that vanished in a gap no more is told than its name and uid."""
        rank = next((rank for rank, facts in self._last.items() if facts.uid == meta["uid"]), None)
        if rank is not None:
            del self._last[rank]
            # A pod that its node has ended bears the time of its deletion; one that only left our sight may not.
            proven = bool(meta.get("deletionTimestamp"))
            self._task.post(events.PodGone(clock.now(), rank, str(meta["uid"]), proven=proven))

    def _tell_vanished(self) -> None:
        for rank, uid in self._unseen.items():
            if self._activity.pod and rank != self._task.run.rank:
                continue
            self._task.post(events.PodGone(clock.now(), rank, uid))
        self._unseen = {}


def _tell_listed(task: Task, what: Literal["workload", "pods"], namespace: str) -> None:
    if task.run.unattended is not None:
        task.post(events.Listed(clock.now(), what, namespace))


def _where(run: Run, namespace: str) -> str:
    """The namespace of what was seen, where the run does not know it yet: whether it does would else fill journals."""
    return namespace if run.rules.places else ""


def _is_same(existing: Object, manifest: Object) -> bool:
    """Whether it was made of this manifest, for this start of the run."""
    facts, wanted = workload_facts(existing), workload_facts(manifest)
    return facts.start == wanted.start and facts.spec_hash == wanted.spec_hash and not facts.deleting


def _refused(found: Finding) -> events.Event:
    """The job's own fault ends the wait; whatever else it is may pass."""
    if found.fault.verdict is not Verdict.JOB:
        raise observed(found)
    return events.Refused(clock.now(), found.sentence, found.fault.name, found.fault.verdict)


def _pod_event(event: Object) -> PodEvent:
    return PodEvent(
        str(event.get("type") or ""), str(event.get("reason") or ""), plain(str(event.get("message") or ""))
    )


def _of(method: Callable[[Task, Any], events.Event | None]) -> Work:
    return lambda task: method(task, task.activity)
