"""The activities that take a run's objects away, and prove that none is left on this node."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bridge import clock, wellknown
from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.belongings import home_of, is_of, name_of, run_of, start_of
from bridge.engine.executor import Task, Work
from bridge.engine.state import Phase, Run
from bridge.errors import ConfigError, Forbidden, NotFound, RemoteError
from bridge.job.pods import condition, workload_facts
from bridge.kube.api import Kubernetes, Object, Selector
from bridge.messages.bridged import KUBELET_UNREADY


class ReleaseWork:
    """The end of runs in Kubernetes, seen from one node. Every method does one activity and returns what came of it."""

    def __init__(self, config: Config, kube: Kubernetes, node: str, runs: Callable[[], Iterable[Run]]) -> None:
        """``runs``: those that this daemon knows at the moment of the call."""
        self._config = config
        self._kube = kube
        self._node = node
        self._runs = runs

    def works(self) -> dict[type[do.Activity], Work]:
        """Which method does which activity."""
        return {
            do.DeleteWorkload: _of(self._delete_workload),
            do.DeletePod: _of(self._delete_pod),
            do.ProveGone: _of(self._prove_gone),
            do.SweepJob: _of(self._sweep),
        }

    def _namespaces(self, run: Run) -> tuple[str, ...]:
        """Every namespace that may have something of the run: the rules may have been others when it began."""
        return tuple(place.namespace for place in run.rules.possible) or self._config.namespaces

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
        return facts.uid if not start_of(run) or facts.start == start_of(run) else None

    def _delete_pod(self, task: Task, activity: do.DeletePod) -> events.Event | None:
        try:
            self._kube.delete_pod(home_of(self._config, task.run), activity.pod, activity.uid)
        except NotFound:
            rank = task.run.rank
            return None if rank is None else events.PodGone(clock.now(), rank, activity.uid, proven=True)
        return None

    def _prove_gone(self, task: Task, activity: do.ProveGone) -> events.Event:
        run, left = task.run, list[Object]()
        for namespace in self._namespaces(run):
            with self._unless_left(run, namespace), _unless_never_reached(run, namespace):
                # Whatever their labels say: those can be taken away from a pod that runs.
                there = self._kube.list_pods(namespace, Selector(node=activity.node))
                left += [pod for pod in there if _is_left(run, pod)]
                if activity.pod:
                    with suppress(NotFound):
                        left += [pod for pod in [self._kube.pod(namespace, activity.pod)] if is_of(run, pod)]
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
        names = ", ".join(sorted({name_of(pod) for pod in pods}))
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
        live = {(run.name, start_of(run)) for run in self._runs() if run.phase in (Phase.PROLOG, Phase.RUNNING)}
        return [item for item in objects if run_of(item) not in live]


@contextmanager
def _unless_never_reached(run: Run, namespace: str) -> Iterator[None]:
    """Passes over a namespace for which this node has no credential that can be used, where it never had one for this
    run: it has seen no pod of it, so it has let none through, and none can be alive here."""
    try:
        yield
    except ConfigError:
        if run.known_uids or run.opened or not run.rules.apart(namespace):
            raise


def _is_left(run: Run, pod: Object) -> bool:
    if str(pod["metadata"]["uid"]) in run.known_uids:
        return True
    return run_of(pod)[0] == run.name and is_of(run, pod)


def _nodes(workload: Object) -> list[str]:
    """The Kubernetes nodes of a workload, in rank order."""
    annotations = workload["metadata"].get("annotations") or {}
    return str(annotations.get(wellknown.ANNOTATION_NODES, "")).split(",")


def _of(method: Callable[[Task, Any], events.Event | None]) -> Work:
    return lambda task: method(task, task.activity)
