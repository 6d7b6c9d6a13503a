"""An API server in memory, behind the Protocol of `bridge.kube.api`; `cluster.FakeCluster` plays the rest.

What a contract test says of the real one holds here too (tests/integration/contract).
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from threading import Condition, Event, RLock
from typing import Any
from uuid import uuid4

from bridge.errors import Conflict, Forbidden, Invalid, NotFound
from bridge.kube.api import LAST_LOG_LIMIT, Change, LogPiece, Object, Observation, Selector
from tests.fakes.faults import Faults
from tests.fakes.jsonpatch import patched

_POLL = 0.02  # seconds between two looks at ``stop``

Key = tuple[str, str, str]  # kind, namespace, name


class FakeKubernetes:
    """``faults`` makes calls fail; ``outage`` there silences watches too. ``on_change`` is called after each
    change, without any lock held."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.bound_to = ""  # the Node that whoever asks is bound to
        self.quota: int | None = None  # of workloads, where there is one
        self.on_change: Callable[[], None] = lambda: None
        self._lock = RLock()
        self._changed = Condition(self._lock)
        self._objects: dict[Key, Object] = {}
        self._history: list[tuple[str, Change, Object]] = []  # kind, change, object
        self._forgotten = 0  # how often the history was compacted
        self._logs: dict[tuple[str, str], list[LogPiece]] = {}

    def identity(self) -> str:
        return self.bound_to

    # -- what a test does

    def put(self, kind: str, item: Object) -> Object:
        """Stores an object as if some controller had written it."""
        item = copy.deepcopy(item)
        metadata = item.setdefault("metadata", {})
        metadata.setdefault("namespace", "")
        metadata.setdefault("uid", str(uuid4()))
        metadata.setdefault("creationTimestamp", _now())
        with self._lock:
            self._store(kind, item)
        self.on_change()
        return copy.deepcopy(item)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """The object is gone at once, whatever it was."""
        with self._changed:
            self._tell(kind, Change.GONE, self._objects.pop((kind, namespace, name)))
        self.on_change()

    def change(self, kind: str, namespace: str, name: str, **status: Any) -> None:
        """Sets fields of the status."""
        self.edit(kind, namespace, name, lambda item: item.setdefault("status", {}).update(status))

    def edit(self, kind: str, namespace: str, name: str, edit: Callable[[Object], object]) -> None:
        """Changes an object as its controller would, not over what somebody else has just written."""
        with self._lock:
            item = self.get(kind, namespace, name)
            edit(item)
            self._store(kind, item)
        self.on_change()

    def get(self, kind: str, namespace: str, name: str) -> Object:
        """One object, past all faults. Raises NotFound."""
        with self._lock:
            return copy.deepcopy(self._get(kind, namespace, name))

    def mark_deleted(self, kind: str, namespace: str, name: str, uid: str) -> None:
        """Somebody deletes this object, past all faults; a pod that no kubelet has seen goes at once."""
        with self._lock:
            item = self.get(kind, namespace, name)
            if item["metadata"]["uid"] != uid:
                raise NotFound(f"{name} is another object now", status=404, reason="NotFound")
            if kind == "pod" and not item["spec"].get("nodeName"):
                self._tell(kind, Change.GONE, self._objects.pop((kind, namespace, name)))
            elif not item["metadata"].get("deletionTimestamp"):
                item["metadata"]["deletionTimestamp"] = _now()
                self._store(kind, item)
        self.on_change()

    def all(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        with self._lock:
            return [copy.deepcopy(item) for key, item in self._objects.items() if key[0] == kind]

    def uids_ever(self, kind: str) -> set[str]:
        """Those of all objects of a kind that have ever been."""
        return {item["metadata"]["uid"] for changed, _, item in self._history if changed == kind}

    @property
    def changes(self) -> int:
        """How many there were."""
        return len(self._history)

    def write_log(self, namespace: str, pod: str, *lines: bytes) -> None:
        """The container prints; stamps are a microsecond apart."""
        with self._changed:
            log = self._logs.setdefault((namespace, pod), [])
            for line in lines:
                moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=len(log))
                log.append(LogPiece(moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z"), line))
            self._changed.notify_all()

    def clear_log(self, namespace: str, pod: str) -> None:
        """The next pod of this name has said nothing yet."""
        with self._lock:
            self._logs.pop((namespace, pod), None)

    def forget_history(self) -> None:
        """Every watch has to list anew, as after a 410."""
        with self._changed:
            self._forgotten += 1
            self._changed.notify_all()

    def break_down(self, error: Exception) -> None:
        """From now on every call fails with this, and watches and logs are silent."""
        self.faults.outage = error

    def recover(self) -> None:
        with self._changed:
            self.faults.outage = None
            self._changed.notify_all()

    # -- the Protocol

    def node(self, name: str) -> Object:
        return self._read("node", "node", "", name)

    def create_workload(self, namespace: str, manifest: Object) -> Object:
        with self.faults.call("create_workload"):
            item = copy.deepcopy(manifest)
            item["metadata"]["namespace"] = namespace
            with self._lock:
                if self.quota is not None and len(self._list("workload", namespace, Selector())) >= self.quota:
                    raise Forbidden(f"exceeded quota: q, limited: {self.quota}", status=403, reason="Forbidden")
                if _key("workload", item) in self._objects:
                    raise Conflict("it is there already", status=409, reason="AlreadyExists")
            return self.put("workload", item)

    def workload(self, namespace: str, name: str) -> Object:
        return self._read("workload", "workload", namespace, name)

    def list_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        with self.faults.call("list_workloads"):
            return self._list("workload", namespace, Selector(labels=labels))

    def survey_workloads(self, namespace: str, labels: Mapping[str, str]) -> list[Object]:
        with self.faults.call("survey_workloads"):
            found = self._list("workload", namespace, Selector(labels=labels))
        return [{"metadata": item["metadata"]} for item in found]

    def delete_workload(self, namespace: str, name: str, uid: str) -> None:
        with self.faults.call("delete_workload"):
            self.mark_deleted("workload", namespace, name, uid)

    def pod(self, namespace: str, name: str) -> Object:
        return self._read("pod", "pod", namespace, name)

    def list_pods(self, namespace: str, selector: Selector) -> list[Object]:
        with self.faults.call("list_pods"):
            return self._list("pod", namespace, selector)

    def patch_pod(self, namespace: str, name: str, patch: list[Object]) -> Object:
        with self.faults.call("patch_pod"):
            with self._lock:
                item = patched(copy.deepcopy(self._get("pod", namespace, name)), copy.deepcopy(patch))
            return self.put("pod", item)

    def delete_pod(self, namespace: str, name: str, uid: str) -> None:
        """A bound pod goes when `FakeCluster.finish` says so."""
        with self.faults.call("delete_pod"):
            self.mark_deleted("pod", namespace, name, uid)

    def events_of(self, namespace: str, uid: str) -> list[Object]:
        with self.faults.call("events_of"):
            events = self._list("event", namespace, Selector())
        mine = [event for event in events if event["involvedObject"].get("uid") == uid]
        return sorted(mine, key=lambda event: str(event.get("lastTimestamp", "")))

    def events_because(self, namespace: str, reason: str) -> list[Object]:
        with self.faults.call("events_because"):
            events = self._list("event", namespace, Selector())
        mine = [event for event in events if event.get("reason") == reason]
        return sorted(mine, key=lambda event: str(event.get("lastTimestamp", "")))

    def create_event(self, namespace: str, event: Object) -> Object:
        with self.faults.call("create_event"):
            item = copy.deepcopy(event)
            item["metadata"]["namespace"] = namespace
            with self._lock:
                if _key("event", item) in self._objects:
                    raise Conflict("it is there already", status=409, reason="AlreadyExists")
            return self.put("event", item)

    def watch_pods(
        self, namespace: str, selector: Selector, stop: Event, current: bool = True
    ) -> Iterator[Observation]:
        del current  # what the fake remembers is what is there
        return self._watch("pod", namespace, selector, stop)

    def watch_workload(self, namespace: str, name: str, stop: Event) -> Iterator[Observation]:
        return self._watch("workload", namespace, Selector(name=name), stop)

    def last_log(self, namespace: str, pod: str, container: str, lines: int) -> bytes:
        with self.faults.call("last_log"), self._lock:
            item = self._get("pod", namespace, pod)
            if all(known["name"] != container for known in item["spec"]["containers"]):
                raise Invalid("no such container", status=400)
            return b"".join(line.data for line in self._logs.get((namespace, pod), [])[-lines:])[-LAST_LOG_LIMIT:]

    def follow_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        after: str,
        stop: Event,
        is_over: Callable[[], bool] | None = None,
    ) -> Iterator[LogPiece]:
        del is_over  # the fake asks itself
        if not self._reached(stop):
            return
        uid = self.pod(namespace, pod)["metadata"]["uid"]
        position = 0
        while not stop.is_set():
            with self._changed:
                item = self._get("pod", namespace, pod)
                if item["metadata"]["uid"] != uid:
                    raise NotFound("replaced", status=404)
                if all(known["name"] != container for known in item["spec"]["containers"]):
                    raise Invalid("no such container", status=400)
                log = self._logs.get((namespace, pod), [])
                silent = self.faults.outage is not None
                fresh = [] if silent else [line for line in log[position:] if line.position > after]
                ended = not silent and _ended(item, container)
                if not fresh and not ended:
                    self._changed.wait(_POLL)
                    continue
                position = len(log)
            yield from fresh
            if ended:
                return

    # -- inside

    def _read(self, verb: str, kind: str, namespace: str, name: str) -> Object:
        with self.faults.call(verb), self._lock:
            return copy.deepcopy(self._get(kind, namespace, name))

    def _get(self, kind: str, namespace: str, name: str) -> Object:
        try:
            return self._objects[kind, namespace, name]
        except KeyError:
            raise NotFound(f'{kind} "{name}" not found', status=404, reason="NotFound") from None

    def _list(self, kind: str, namespace: str, selector: Selector) -> list[Object]:
        with self._lock:
            return [
                copy.deepcopy(item)
                for key, item in sorted(self._objects.items())
                if key[:2] == (kind, namespace) and _selects(selector, item)
            ]

    def _store(self, kind: str, item: Object) -> None:
        item["metadata"]["resourceVersion"] = str(len(self._history) + 1)
        self._objects[_key(kind, item)] = item
        self._tell(kind, Change.SEEN, item)

    def _tell(self, kind: str, change: Change, item: Object) -> None:
        self._history.append((kind, change, copy.deepcopy(item)))
        self._changed.notify_all()

    def _watch(self, kind: str, namespace: str, selector: Selector, stop: Event) -> Iterator[Observation]:
        self.faults.calls.append(f"watch_{kind}")
        known: dict[str, Object] = {}  # by uid
        while self._reached(stop):
            with self._lock:
                position, forgotten = len(self._history), self._forgotten
                present = {item["metadata"]["uid"]: item for item in self._list(kind, namespace, selector)}
            for uid in known.keys() - present.keys():
                told = {key: known[uid]["metadata"].get(key) for key in ("name", "namespace", "uid")}
                yield Observation(Change.GONE, {"metadata": told})
            yield from (Observation(Change.SEEN, item) for item in present.values())
            yield Observation(Change.SYNCED, {})
            known = present
            while not stop.is_set() and forgotten == self._forgotten:
                for changed, change, item in self._news(position):
                    position += 1
                    if (changed, item["metadata"]["namespace"]) == (kind, namespace) and _selects(selector, item):
                        known[item["metadata"]["uid"]] = item
                        if change is Change.GONE:
                            del known[item["metadata"]["uid"]]
                        yield Observation(change, copy.deepcopy(item))

    def _reached(self, stop: Event) -> bool:
        """Waits until the server answers; False when ``stop`` was set first."""
        while not stop.is_set():
            with self._changed:
                if self.faults.outage is None:
                    return True
                self._changed.wait(_POLL)
        return False

    def _news(self, position: int) -> list[tuple[str, Change, Object]]:
        """What happened since, waiting a moment for it."""
        with self._changed:
            if self.faults.outage is not None or position == len(self._history):
                self._changed.wait(_POLL)
            return [] if self.faults.outage is not None else self._history[position:]


def _key(kind: str, item: Object) -> Key:
    return kind, item["metadata"]["namespace"], item["metadata"]["name"]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _ended(pod: Object, container: str) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    states = [status.get("state", {}) for status in statuses if status["name"] == container]
    return any("terminated" in state for state in states)


def _selects(selector: Selector, item: Object) -> bool:
    labels = item["metadata"].get("labels") or {}
    return (
        selector.name in ("", item["metadata"]["name"])
        and all(labels.get(key) == value for key, value in (selector.labels or {}).items())
        and selector.node in ("", item.get("spec", {}).get("nodeName", ""))
    )
