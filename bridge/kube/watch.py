"""Our own list and watch on raw JSON lines.

A watch that begins with what is there, as of now, and marks where that ends: the engine needs to know "that is all".
API servers that cannot do so (WatchList is beta, and off in some releases) refuse the question; then a list comes
first, and the watch goes on from its version. The library's Watch hangs without a read time-out, loses the version
and retries a 410 with it.
"""

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from random import uniform
from threading import Event

import structlog

from bridge.errors import Invalid, RemoteError, Unavailable
from bridge.kube.answers import slim
from bridge.kube.api import Change, Object, Observation
from bridge.kube.stream import Pace, chunks, pieces
from bridge.kube.transport import Request, Transport

_log = structlog.get_logger(__name__)

_LIFE = (120.0, 150.0)  # seconds of one watch: what a silent proxy swallows is noticed by then
_GRACE = 10.0  # seconds that the read time-out is above that
_LINE_LIMIT = 8 * 1024 * 1024  # etcd takes objects of 1.5 MiB; JSON may escape and managedFields double them
_OBJECTS_LIMIT = 131072  # of one watch: twice what Slurm's largest job has pods
_RELIST_AFTER = 3  # failures: the version may be of a future that an etcd restore took back
_HASTY = 1.0  # seconds; a watch that ends sooner is not asked for again at once
_GONE = 410
WITH_ALL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
"""Of a watch that begins with what is there; without a version: as of now."""
_AS_REMEMBERED = {**WITH_ALL, "resourceVersion": "0"}
_ALL_TOLD = "k8s.io/initial-events-end"


class Watch:
    """One endless watch; iterate it once. Never raises: trouble is logged, and tried again."""

    def __init__(
        self, transport: Transport, path: str, query: Mapping[str, str], stop: Event, current: bool = True
    ) -> None:
        """``current``: what is there is told as of now. A server (1.36) whose memory is not as new as etcd within three
        seconds ends such a watch with an error; else what it remembers is told, at once."""
        self._transport = transport
        self._path = path
        self._query = query
        self._stop = stop
        self._start = WITH_ALL if current else _AS_REMEMBERED
        self._pace = Pace(stop)
        self._log = _log.bind(path=path, **query)
        self._version = ""
        self._known: dict[str, Object] = {}
        self._told: set[str] = set()  # names, until all is told that is there
        self._lists = False

    def __iter__(self) -> Iterator[Observation]:
        """Initial objects as SEEN, SYNCED, then changes. After a gap the whole is told again in this way;
        what vanished meanwhile is GONE, with its metadata only, before its successor and before SYNCED."""
        while not self._stop.is_set():
            try:
                if not self._version and self._must_list():
                    yield from self._relist()
                yield from self._follow()
            except Invalid as error:
                self._refused(error)
            except RemoteError as error:
                if not self._stop.is_set():  # a stop cuts the line that was just being read
                    self._interrupted(error)
        self._log.debug("watch_stopped")

    def _must_list(self) -> bool:
        return self._lists or not self._transport.streams_lists or self._pace.failures >= _RELIST_AFTER

    def _refused(self, error: Invalid) -> None:
        """A server without WatchList names what it does not take. It is not asked for it again by anybody."""
        if self._version or self._must_list():
            self._interrupted(error)
        else:
            self._transport.streams_lists = False
            self._log.info("watch_lists_first", cause=str(error))

    def _interrupted(self, error: RemoteError) -> None:
        expired = error.status == _GONE
        level = logging.DEBUG if expired or self._pace.failures else logging.WARNING
        self._log.log(level, "watch_interrupted", cause=str(error), status=error.status)
        if expired or self._pace.failures >= _RELIST_AFTER:
            self._version = ""
        self._pace.pause(error.retry_after if isinstance(error, Unavailable) else 0.0)

    def _relist(self) -> Iterator[Observation]:
        self._told, version = set(), ""
        for items, version in self._transport.pages(self._path, self._query):  # noqa: B007
            for item in map(slim, items):
                yield from self._seen(item)
        yield from self._all_told(version)

    def _all_told(self, version: str) -> Iterator[Observation]:
        for name in self._known.keys() - self._told:
            yield Observation(Change.GONE, self._known.pop(name))
        self._version = version
        self._log.info("watch_started", objects=len(self._told))
        self._told = set()
        yield Observation(Change.SYNCED, {})

    def _follow(self) -> Iterator[Observation]:
        life, begun = uniform(*_LIFE), time.monotonic()
        if not self._version:
            self._told = set()
        query = {
            **self._query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            **({"resourceVersion": self._version} if self._version else self._start),
            "timeoutSeconds": str(int(life)),
        }
        request = Request("GET", self._path, query)
        with closing(chunks(lambda: self._transport.open(request, life + _GRACE), self._stop)) as source:
            for line in pieces(source, _LINE_LIMIT):
                yield from self._read(line)
                self._recovered()
        if not self._version and not self._stop.is_set():
            self._lists = True
            raise Unavailable(f"The API server's watch at {self._path} ended before it had told what is there")
        if time.monotonic() - begun < _HASTY and not self._stop.is_set():
            self._pace.pause()

    def _recovered(self) -> None:
        if self._pace.failures:
            self._log.info("watch_resumed")
            self._pace.succeeded()

    def _read(self, line: bytes) -> Iterator[Observation]:
        """Raises as `event` does."""
        kind, item = event(line)
        if self._version:
            self._version = item["metadata"]["resourceVersion"]
        if kind == "DELETED":
            item = slim(item)
            if self._known.get(item["metadata"]["name"]) == _identity(item):
                del self._known[item["metadata"]["name"]]
            yield Observation(Change.GONE, item)
        elif kind != "BOOKMARK":
            yield from self._seen(slim(item))
        elif not self._version and _ends_what_is_there(item):
            yield from self._all_told(item["metadata"]["resourceVersion"])

    def _seen(self, item: Object) -> Iterator[Observation]:
        """Only what identifies the object is kept: a thousand whole pods would be 50 MB."""
        name = item["metadata"]["name"]
        before, now = self._known.get(name), _identity(item)
        if before is None and len(self._known) >= _OBJECTS_LIMIT:
            raise Unavailable(f"The API server tells of more than {_OBJECTS_LIMIT} objects at {self._path}")
        if before is not None and before != now:
            yield Observation(Change.GONE, before)
        self._known[name] = now
        if not self._version:
            self._told.add(name)
        yield Observation(Change.SEEN, item)


def _identity(item: Object) -> Object:
    return {"metadata": {key: item["metadata"].get(key) for key in ("name", "namespace", "uid")}}


def tells_all(line: bytes) -> bool:
    """Whether this event ends what is there. Raises as `event` does."""
    kind, item = event(line)
    return kind == "BOOKMARK" and _ends_what_is_there(item)


def _ends_what_is_there(bookmark: Object) -> bool:
    return _ALL_TOLD in (bookmark["metadata"].get("annotations") or {})


def event(line: bytes) -> tuple[str, Object]:
    """Its type and its object. Raises Unavailable for an ERROR and for what is no event."""
    try:
        parsed = json.loads(line)
        kind, item = parsed["type"], parsed["object"]
        if kind == "ERROR":
            raise Unavailable(f"Kubernetes: {item.get('message')}", status=int(item.get("code") or 0))
        item["metadata"]["resourceVersion"]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unavailable(f"Not a watch event of at most {_LINE_LIMIT} bytes: {line[:80]!r}") from error
    return kind, item
