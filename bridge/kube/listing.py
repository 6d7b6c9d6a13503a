"""All that is there now, as of etcd's quorum, from the memory of an API server that many ask at once.

A consistent list waits three seconds for that memory to be as new as etcd, and reads every object of the namespace from
etcd then, while it holds the places of ten small requests: a thousand nodes that asked so for their one pod, each again
and again, kept an API server (1.36) busy for two minutes with answers that came too late. A watch that begins with what
is there holds one place and is cut where that ends; a memory older than that for three seconds is an error.
"""

from collections.abc import Mapping

from bridge.errors import Invalid, Unavailable
from bridge.kube.answers import slim
from bridge.kube.api import Object
from bridge.kube.transport import Request, Transport
from bridge.kube.watch import WITH_ALL, event, tells_all

_LIFE = 120  # seconds until the server ends a watch whose reader it has not seen go
_IN_A_ROW = 3  # watches that came to nothing; behind them a list is asked for, once


class Listing:
    """Consistent lists of one API server. Safe to use from many threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._failures = 0  # in a row

    def whole(self, path: str, query: Mapping[str, str]) -> list[Object]:
        """The objects at this path. Raises the errors of `bridge.errors`."""
        if self._transport.streams_lists and self._failures < _IN_A_ROW:
            told = self._told(path, query)
            if told is not None:
                return told
        self._failures = 0
        return [slim(item) for items, _ in self._transport.pages(path, query) for item in items]

    def _told(self, path: str, query: Mapping[str, str]) -> list[Object] | None:
        """None where the server cannot, or did not come to the end of it."""
        options = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(_LIFE)}
        try:
            lines = self._transport.lines(Request("GET", path, {**query, **options, **WITH_ALL}), tells_all)
        except Invalid:
            self._transport.streams_lists = False
            return None
        except Unavailable:
            self._failures += 1
            raise
        self._failures = 0
        return _all(lines) if lines and tells_all(lines[-1]) else None


def _all(lines: list[bytes]) -> list[Object]:
    """What the events come to: some may have changed or gone while the server told of the others."""
    there: dict[str, Object] = {}
    for kind, item in map(event, lines):
        if kind == "DELETED":
            there.pop(item["metadata"]["name"], None)
        elif kind != "BOOKMARK":
            there[item["metadata"]["name"]] = slim(item)
    return list(there.values())
