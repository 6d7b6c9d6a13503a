"""The activities that speak to Kubernetes."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

import structlog

from bridge import clock, wellknown
from bridge.config import Config
from bridge.config.profiles import Kind
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Task, Work
from bridge.engine.logs import LogHub
from bridge.engine.state import Phase, Run, Workload, kind
from bridge.errors import ConfigError, Conflict, Forbidden, Invalid, NotFound, RemoteError
from bridge.job.faults import Finding, Verdict, admission, observed, runs
from bridge.job.faults.pod_events import PodEvent, telling
from bridge.job.faults.row import plain
from bridge.job.pods import PodFacts, condition, pod_facts, workload_facts
from bridge.kube.api import Change, Kubernetes, Object, Selector
from bridge.messages.bridged import KUBELET_UNREADY

log = structlog.get_logger()

_EVENTS_PAUSE, _EVENTS_LONGEST = 5.0, 60.0  # seconds between two looks at the events of a pod: the first, and at most


class ClusterWork:
    """Kubernetes seen from one node. Every method does one activity and returns what came of it."""

    def __init__(
        self,
        config: Config,
        kube: Kubernetes,
        hub: LogHub,
        node: str,
        runs: Callable[[], Iterable[Run]],
    ) -> None:
        """``runs``: those that this daemon knows at the moment of the call."""
        self._config = config
        self._kube = kube
        self._hub = hub
        self._node = node
        self._runs = runs

    def works(self) -> dict[type[do.Activity], Work]:
        """Which method does which activity."""
        return {
            do.CreateWorkload: _of(self._create),
            do.WatchWorkload: _of(self._watch_workload),
            do.WatchPods: _of(self._watch_pods),
            do.OpenGate: _of(self._open_gate),
            do.ReadRefusals: _of(self._read_refusals),
            do.FollowEvents: _of(self._follow_events),
            do.FollowLog: _of(self._follow_log),
            do.DeleteWorkload: _of(self._delete_workload),
            do.DeletePod: _of(self._delete_pod),
            do.ProveGone: _of(self._prove_gone),
            do.SweepJob: _of(self._sweep),
        }

    def _home(self, run: Run) -> str:
        """Namespace of the run's workload; of a run that the journal does not know, where it is looked for first."""
        return run.rules.namespace or self._config.namespace_of(_kind(run))

    def _namespaces(self, run: Run) -> tuple[str, ...]:
        """Every namespace that may have something of the run: the rules may have been others when it began."""
        return (run.rules.namespace,) if run.rules.namespace else self._config.namespaces

    # -- before the pods

    def _create(self, task: Task, activity: do.CreateWorkload) -> events.Event:
        manifest: Object = json.loads(activity.manifest)
        try:
            created = self._kube.create_workload(self._home(task.run), manifest)
        except Conflict:
            return self._recognise(task.run, manifest)
        except RemoteError as error:
            found = admission.of_creation(error)
            if found is None:
                raise
            return _refused(found)
        return self._taken(task.run, created)

    def _taken(self, run: Run, workload: Object) -> events.Event:
        """The workload is ours, and no pod of it can start but through the gate."""
        uid = str(workload["metadata"]["uid"])
        if not _is_gated(workload):
            self._kube.delete_workload(self._home(run), _name(workload), uid)
            raise observed(admission.CRD_TOO_OLD.finding("it dropped the field"))
        return events.WorkloadCreated(clock.now(), uid)

    def _recognise(self, run: Run, manifest: Object) -> events.Event:
        """The name is taken: by our own lost answer, or by an older run of a job id that came back."""
        name = _name(manifest)
        existing = self._kube.workload(self._home(run), name)
        facts, wanted = workload_facts(existing), workload_facts(manifest)
        if facts.start == wanted.start and facts.spec_hash == wanted.spec_hash and not facts.deleting:
            return self._taken(run, existing)
        labels = (existing.get("metadata") or {}).get("labels") or {}
        if labels.get(wellknown.LABEL_RUN) != run.name:
            raise observed(runs.NAME_TAKEN.finding(name))
        if not facts.deleting:
            self._kube.delete_workload(self._home(run), name, facts.uid)
        raise observed(runs.PREDECESSOR.finding(name))

    def _open_gate(self, task: Task, activity: do.OpenGate) -> events.Event | None:
        namespace = self._home(task.run)
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
        for event in reversed(self._kube.events_of(self._home(task.run), activity.uid)):
            if event.get("reason") == "FailedCreatePod":
                return _refused(admission.of_pod_creation(str(event.get("message") or "")))
        raise observed(runs.OPERATOR_SILENT.finding("not all pods yet"))

    # -- watching

    def _watch_workload(self, task: Task, activity: do.WatchWorkload) -> None:
        start = _start(task.run)
        known = task.run.workload in (Workload.LIVE, Workload.DELETING)
        last: object = None
        for change in self._kube.watch_workload(self._home(task.run), activity.name, task.stop):
            facts = workload_facts(change.object) if change.object else None
            if change.change is Change.SYNCED:
                if known and last is None:
                    task.post(events.WorkloadGone(clock.now()))
                _tell_listed(task, "workload")
            if facts is None or (start and facts.start != start):
                continue
            if change.change is Change.GONE:
                task.post(events.WorkloadGone(clock.now()))
            elif facts != last:
                task.post(events.WorkloadSeen(clock.now(), facts))
            last = facts

    def _watch_pods(self, task: Task, activity: do.WatchPods) -> None:
        selector = Selector(name=activity.pod, labels={wellknown.LABEL_RUN: activity.name})
        view = _PodView(task)
        for change in self._kube.watch_pods(self._home(task.run), selector, task.stop):
            view.tell(change.change, change.object)

    def _follow_events(self, task: Task, activity: do.FollowEvents) -> None:
        pause, said = 0.0, PodEvent("", "", "")
        while not task.stop.wait(pause):
            seen = self._kube.events_of(self._home(task.run), activity.uid)
            told = telling(map(_pod_event, seen)) or PodEvent("", "", "")
            if told != said:
                task.post(events.PodTold(clock.now(), activity.rank, activity.uid, told.reason, told.message))
            said, pause = told, min(max(2 * pause, _EVENTS_PAUSE), _EVENTS_LONGEST)

    def _follow_log(self, task: Task, activity: do.FollowLog) -> None:
        run, home = task.run, self._home(task.run)
        self._hub.follow(run.key, activity.rank, home, activity.pod, task.stop, has_reader=run.attached)

    # -- release

    def _delete_workload(self, task: Task, activity: do.DeleteWorkload) -> events.Event:
        for namespace in self._namespaces(task.run):
            with suppress(NotFound), self._unless_left(task.run, namespace):
                uid = activity.uid or self._uid_of(task.run, namespace, activity.name)
                if uid is not None:
                    self._kube.delete_workload(namespace, activity.name, uid)
                    return events.WorkloadDeleted(clock.now(), uid)
        return events.WorkloadGone(clock.now())

    @contextmanager
    def _unless_left(self, run: Run, namespace: str) -> Iterator[None]:
        """Passes over a namespace that is closed to us and that the site does not name any more, as after a slip in
        bridge.toml: where this node has let no pod of the run through, none can be alive here, whatever lies there."""
        try:
            yield
        except Forbidden:
            if namespace in self._config.namespaces or run.known_uids or run.opened:
                raise

    def _uid_of(self, run: Run, namespace: str, name: str) -> str | None:
        facts = workload_facts(self._kube.workload(namespace, name))
        return facts.uid if not _start(run) or facts.start == _start(run) else None

    def _delete_pod(self, task: Task, activity: do.DeletePod) -> events.Event | None:
        try:
            self._kube.delete_pod(self._home(task.run), activity.pod, activity.uid)
        except NotFound:
            return None if task.run.rank is None else events.PodGone(clock.now(), task.run.rank, activity.uid)
        return None

    def _prove_gone(self, task: Task, activity: do.ProveGone) -> events.Event:
        selector, pods = Selector(labels={wellknown.LABEL_RUN: activity.name}, node=activity.node), []
        for namespace in self._namespaces(task.run):
            with self._unless_left(task.run, namespace), _unless_never_reached(task.run):
                pods += self._kube.list_pods(namespace, selector)
                with suppress(NotFound):
                    pods.append(self._kube.pod(namespace, activity.pod))
        left = [pod for pod in pods if _is_of(task.run, pod)]
        return self._remaining(left) if left else events.PodsClear(clock.now())

    def _sweep(self, _task: Task, activity: do.SweepJob) -> events.Event:
        pods: list[Object] = []
        for namespace in self._config.namespaces:
            pods += self._swept(namespace, activity.job_id)
        return self._remaining(pods) if pods else events.PodsClear(clock.now())

    def _swept(self, namespace: str, job_id: int) -> list[Object]:
        """The job's pods in this namespace that are still there after its workloads and they have been deleted."""
        labels = {wellknown.LABEL_TAG: self._config.cluster.tag, wellknown.LABEL_JOB: str(job_id)}
        for workload in self._not_live(self._kube.list_workloads(namespace, labels)):
            meta = workload["metadata"]
            if self._node in _nodes(workload) and not meta.get("deletionTimestamp"):
                with suppress(NotFound):
                    self._kube.delete_workload(namespace, str(meta["name"]), str(meta["uid"]))
        pods = self._not_live(self._kube.list_pods(namespace, Selector(labels=labels, node=self._node)))
        self._delete_pods(namespace, pods)
        return pods

    def _remaining(self, pods: list[Object]) -> events.PodsRemain:
        uids = {str(pod["metadata"]["uid"]) for pod in pods}
        names = ", ".join(sorted({_name(pod) for pod in pods}))
        sentence = f"Kubernetes still shows {names}{self._silent_kubelet()}"
        return events.PodsRemain(clock.now(), tuple(sorted(uids)), sentence)

    def _silent_kubelet(self) -> str:
        """A clause where this node's kubelet, which alone can end its pods, is dead or unwell."""
        with suppress(RemoteError):
            ready = condition(self._kube.node(self._node).get("status") or {}, "Ready")
            if ready.get("status") != "True":
                return KUBELET_UNREADY.format(node=self._node, why=ready.get("message") or "no message")
        return ""

    def _delete_pods(self, namespace: str, pods: list[Object]) -> None:
        for meta in [pod["metadata"] for pod in pods]:
            if not meta.get("deletionTimestamp"):
                with suppress(NotFound):
                    self._kube.delete_pod(namespace, str(meta["name"]), str(meta["uid"]))

    def _not_live(self, objects: list[Object]) -> list[Object]:
        """Without those of runs that go on here: a requeued job has the number of the run whose epilog this is.

        To be called with what was listed before: a workload is made after its run has become known.
        """
        live = {(run.name, _start(run)) for run in self._runs() if run.phase in (Phase.PROLOG, Phase.RUNNING)}
        return [item for item in objects if _run_of(item) not in live]


class _PodView:
    """Turns what a pod watch tells into events, each fact once, and misses no pod that vanished unseen."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._start = _start(task.run)
        self._last: dict[int, PodFacts] = {}
        self._unseen = {rank: pod.uid for rank, pod in task.run.pods.items() if rank not in task.run.lost}

    def tell(self, change: Change, pod: Object) -> None:
        """One observation."""
        if change is Change.SYNCED:
            self._tell_vanished()
            _tell_listed(self._task, "pods")
            return
        facts = pod_facts(pod)
        if facts is None or not _is_of(self._task.run, pod):
            return
        if self._unseen.get(facts.rank) == facts.uid:
            del self._unseen[facts.rank]
        if change is Change.GONE:
            self._last.pop(facts.rank, None)
            self._task.post(events.PodGone(clock.now(), facts.rank, facts.uid))
        elif self._last.get(facts.rank) != facts:
            self._last[facts.rank] = facts
            self._task.post(events.PodSeen(clock.now(), facts))

    def _tell_vanished(self) -> None:
        own = self._task.activity
        for rank, uid in self._unseen.items():
            if isinstance(own, do.WatchPods) and own.pod and rank != self._task.run.rank:
                continue
            self._task.post(events.PodGone(clock.now(), rank, uid))
        self._unseen = {}


@contextmanager
def _unless_never_reached(run: Run) -> Iterator[None]:
    """Passes over a namespace for which this node has no credential that can be used, where it never had one for this
    run: it has seen no pod of it, so it has let none through, and none can be alive here."""
    try:
        yield
    except ConfigError:
        if run.known_uids or run.opened or not run.rules.apart:
            raise


def _tell_listed(task: Task, what: Literal["workload", "pods"]) -> None:
    if task.run.unattended is not None:
        task.post(events.Listed(clock.now(), what))


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


def _kind(run: Run) -> Kind:
    """As the site's rules see it; nothing is known of a job of which all we have is its number, and the rules of a run
    of before there were namespaces are not today's."""
    return Kind() if run.allocation is None or run.rules.timing else kind(run.allocation)


def _start(run: Run) -> str:
    """The start that workload and pods of this run carry; '' when it is not known."""
    return "" if run.allocation is None else str(run.allocation.start_time)


def _is_of(run: Run, pod: Object) -> bool:
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    return _start(run) in ("", str(annotations.get(wellknown.ANNOTATION_START, "")))


def _run_of(item: Object) -> tuple[str, str]:
    """Name and start of the run that a workload or a pod belongs to, as it says itself."""
    meta = item.get("metadata") or {}
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return str(labels.get(wellknown.LABEL_RUN, "")), str(annotations.get(wellknown.ANNOTATION_START, ""))


def _nodes(workload: Object) -> list[str]:
    """The Kubernetes nodes of a workload, in rank order."""
    annotations = workload["metadata"].get("annotations") or {}
    return str(annotations.get(wellknown.ANNOTATION_NODES, "")).split(",")


def _name(manifest: Object) -> str:
    return str(manifest["metadata"]["name"])


def _is_gated(workload: Object) -> bool:
    replicas = workload["spec"]["pytorchReplicaSpecs"].values()
    gates = [gate for replica in replicas for gate in replica["template"]["spec"].get("schedulingGates") or []]
    return any(gate.get("name") == wellknown.GATE for gate in gates)
