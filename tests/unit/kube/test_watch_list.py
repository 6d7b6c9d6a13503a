"""A watch that begins with what is there, without a list."""

from collections.abc import Iterator
from threading import Event

import pytest

from bridge.kube import stream
from bridge.kube.api import Selector
from tests.fakes.httpserver import Drop, Reply, ScriptedServer, Stream
from tests.unit.kube.conftest import Connect
from tests.unit.kube.test_client import status
from tests.unit.kube.test_watch import EXPIRED, event, pod, pods, take

REFUSED = status(422, "Invalid", "sendInitialEvents: Forbidden: unless the WatchList feature gate is enabled")


def all_told(version: int) -> bytes:
    metadata = {"resourceVersion": str(version), "annotations": {"k8s.io/initial-events-end": "true"}}
    return event("BOOKMARK", {"metadata": metadata})


@pytest.fixture
def stop() -> Iterator[Event]:
    stop = Event()
    yield stop
    stop.set()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pause = stream.Pace.pause

    def short(self: stream.Pace, at_least: float = 0.0) -> None:
        self._first = self._longest = 0.001
        pause(self, at_least)

    monkeypatch.setattr(stream.Pace, "pause", short)


def test_one_request_tells_what_is_there_and_goes_on(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    begun = event("ADDED", pod("a", version=3)) + all_told(7)
    server.answers(Stream((begun, event("DELETED", pod("a", version=8))), "end"), Stream((), "hang"))
    seen = connect(server.url).watch_pods("ns", Selector(labels={"l": "v"}), stop)
    assert take(seen, 3) == [("seen", "uid-a"), ("synced", ""), ("gone", "uid-a")]
    (asked,) = server.received
    assert asked.query["sendInitialEvents"] == asked.query["allowWatchBookmarks"] == asked.query["watch"] == "true"
    assert asked.query["resourceVersionMatch"] == "NotOlderThan"
    assert "resourceVersion" not in asked.query, "as of now, by etcd's quorum"
    assert asked.query["labelSelector"] == "l=v"


def test_what_the_server_remembers_is_enough_where_that_is_said(
    server: ScriptedServer, connect: Connect, stop: Event
) -> None:
    """It asks etcd for nothing then, and waits for nothing."""
    begun = event("ADDED", pod("a", version=3)) + all_told(7)
    server.answers(Stream((begun,), "cut"), Stream((event("ADDED", pod("b", version=8)),), "hang"))
    seen = connect(server.url).watch_pods("ns", Selector(), stop, current=False)
    assert take(seen, 3) == [("seen", "uid-a"), ("synced", ""), ("seen", "uid-b")]
    first, then = (each.query for each in server.received)
    assert (first["resourceVersion"], first["sendInitialEvents"]) == ("0", "true")
    assert then["resourceVersion"] == "7" and "sendInitialEvents" not in then


def test_it_goes_on_from_where_it_was(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(Stream((all_told(7),), "cut"), Stream((event("ADDED", pod("a", version=8)),), "hang"))
    assert take(connect(server.url).watch_pods("ns", Selector(), stop), 2) == [("synced", ""), ("seen", "uid-a")]
    query = server.received[1].query
    assert query["resourceVersion"] == "7"
    assert "sendInitialEvents" not in query


def test_what_is_half_told_is_told_anew(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    """The version of an object that is told at the start says nothing of those that were not."""
    server.answers(
        Stream((event("ADDED", pod("a", version=3)),), "cut"),
        Stream((event("ADDED", pod("b", version=2)) + all_told(9),), "hang"),
    )
    seen = connect(server.url).watch_pods("ns", Selector(), stop)
    assert take(seen, 4) == [("seen", "uid-a"), ("seen", "uid-b"), ("gone", "uid-a"), ("synced", "")]
    assert "resourceVersion" not in server.received[1].query


def test_what_vanished_in_a_gap_is_told(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    first = b"".join(event("ADDED", pod(name)) for name in "abc")
    then = event("ADDED", pod("a")) + event("ADDED", pod("c", "new-c"))
    server.answers(Stream((first + all_told(7),)), Stream((EXPIRED,)), Stream((then + all_told(9),), "hang"))
    seen = connect(server.url).watch_pods("ns", Selector(), stop)
    take(seen, 4)
    assert take(seen, 5) == [
        ("seen", "uid-a"),
        ("gone", "uid-c"),
        ("seen", "new-c"),
        ("gone", "uid-b"),
        ("synced", ""),
    ]


def test_a_server_that_cannot_is_asked_once(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    client = connect(server.url)
    server.answers(REFUSED, pods(pod("a"), version=7), Stream((), "hang"), pods(version=8), Stream((), "hang"))
    assert take(client.watch_pods("ns", Selector(), stop), 2) == [("seen", "uid-a"), ("synced", "")]
    assert take(client.watch_workload("ns", "w", stop), 1) == [("synced", "")]
    assert ["watch" in request.query for request in server.received][:2] == [True, False]
    assert "sendInitialEvents" not in [name for request in server.received[1:] for name in request.query]


def test_a_server_that_never_ends_to_tell_is_asked_for_a_list(
    server: ScriptedServer, connect: Connect, stop: Event
) -> None:
    server.answers(Stream((event("ADDED", pod("a")),)), pods(pod("a"), version=7), Stream((), "hang"))
    seen = connect(server.url).watch_pods("ns", Selector(), stop)
    assert take(seen, 3) == [("seen", "uid-a"), ("seen", "uid-a"), ("synced", "")]


def test_a_server_that_fails_again_and_again_is_asked_for_a_list(
    server: ScriptedServer, connect: Connect, stop: Event
) -> None:
    server.answers(Reply(b"", 503), Drop(), Reply(b"", 500), pods(pod("a"), version=7), Stream((), "hang"))
    assert take(connect(server.url).watch_pods("ns", Selector(), stop), 2) == [("seen", "uid-a"), ("synced", "")]
    assert ["watch" in request.query for request in server.received[:4]] == [True, True, True, False]
