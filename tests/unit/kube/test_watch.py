import json
import time
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.kube import watch
from bridge.kube.api import Change, Observation, Selector
from bridge.kube.client import KubernetesClient
from tests.fakes.httpserver import Drop, Reply, ScriptedServer, Silence, Stream
from tests.unit.kube.conftest import Connect


@pytest.fixture
def connect(connect: Connect) -> Connect:
    """To an API server that has no WatchList; of one that has it tells test_watch_list.py."""

    def make(url: str) -> KubernetesClient:
        client = connect(url)
        client._transport.streams_lists = False
        return client

    return make


def pod(name: str, uid: str = "", version: int = 1) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}}


def pods(*items: dict[str, Any], version: int = 1) -> Reply:
    return Reply({"items": list(items), "metadata": {"resourceVersion": str(version)}})


def event(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


EXPIRED = event("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})


def told(observation: Observation) -> tuple[str, str]:
    metadata = observation.object.get("metadata", {})
    return observation.change.value, metadata.get("uid", "")


def take(observations: Iterator[Observation], count: int) -> list[tuple[str, str]]:
    return [told(next(observations)) for _ in range(count)]


@pytest.fixture
def stop() -> Iterator[Event]:
    stop = Event()
    yield stop
    stop.set()


def test_initial_state_then_synced_then_changes(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    changes = event("MODIFIED", pod("a", version=8)) + event("ADDED", pod("b", version=9))
    server.answers(
        pods(pod("a"), version=7),
        Stream((changes[:30], changes[30:], event("DELETED", pod("a", version=10))), "hang"),
    )
    seen = connect(server.url).watch_pods("ns", Selector(labels={"l": "v"}), stop)
    assert take(seen, 5) == [
        ("seen", "uid-a"),
        ("synced", ""),
        ("seen", "uid-a"),
        ("seen", "uid-b"),
        ("gone", "uid-a"),
    ]
    listed, watched = server.received
    assert "resourceVersion" not in listed.query
    assert watched.query["resourceVersion"] == "7"
    assert watched.query["allowWatchBookmarks"] == "true"
    assert watched.query["labelSelector"] == "l=v"
    assert 100 < int(watched.query["timeoutSeconds"]) < 200


def test_it_goes_on_from_the_last_bookmark(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "20"}})
    server.answers(pods(version=7), Stream((bookmark,)), Stream((event("ADDED", pod("a", version=21)),), "hang"))
    assert take(connect(server.url).watch_pods("ns", Selector(), stop), 2) == [
        ("synced", ""),
        ("seen", "uid-a"),
    ]
    assert server.received[2].query["resourceVersion"] == "20"


@pytest.mark.parametrize("expired", [Stream((EXPIRED,)), Reply(b"{}", 410)])
def test_what_vanished_in_a_gap_is_told(
    server: ScriptedServer, connect: Connect, stop: Event, expired: Stream | Reply
) -> None:
    server.answers(
        pods(pod("a"), pod("b"), pod("c"), version=7),
        expired,
        pods(pod("a"), pod("c", "new-c"), version=9),
        Stream((), "hang"),
    )
    seen = connect(server.url).watch_pods("ns", Selector(), stop)
    take(seen, 4)
    assert take(seen, 5) == [
        ("seen", "uid-a"),
        ("gone", "uid-c"),
        ("seen", "new-c"),
        ("gone", "uid-b"),
        ("synced", ""),
    ]


def test_an_outage_is_outlived_and_told_once(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(
        Reply(b"", 403), pods(version=7), Drop(), Reply(b"", 503), Stream((b"{no json\n",)), Stream((b"", )),
    )  # fmt: skip
    server.answers(pods(version=8), Stream((event("ADDED", pod("a", version=9)),), "hang"))
    with capture_logs() as logs:
        seen = connect(server.url).watch_pods("ns", Selector(), stop)
        assert told(next(seen)) == ("synced", "")
        while told(next(seen))[0] != "seen":
            pass
        stop.set()
        assert list(seen) == []
    warnings = [log["event"] for log in logs if log["log_level"] == "warning"]
    assert warnings == ["watch_interrupted"]
    assert [log["event"] for log in logs if log["event"] == "watch_resumed"] == ["watch_resumed"]


def test_a_cut_connection_resumes(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(
        pods(version=7),
        Stream((event("ADDED", pod("a", version=8)), b'{"type": "ADDED", "obj'), "cut"),
        Stream((event("ADDED", pod("b", version=9)),), "hang"),
    )
    seen = connect(server.url).watch_pods("ns", Selector(), stop)
    assert take(seen, 3) == [("synced", ""), ("seen", "uid-a"), ("seen", "uid-b")]
    assert server.received[2].query["resourceVersion"] == "8"


def test_a_half_open_connection_is_given_up(
    server: ScriptedServer, connect: Connect, stop: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LIFE", (0.1, 0.1))
    monkeypatch.setattr(watch, "_GRACE", 0.1)
    server.answers(pods(version=7), Stream((), "hang"), Stream((event("ADDED", pod("a")),), "hang"))
    assert take(connect(server.url).watch_pods("ns", Selector(), stop), 2) == [
        ("synced", ""),
        ("seen", "uid-a"),
    ]


@pytest.mark.parametrize("answer", [Stream((), "hang"), Silence()])
def test_stop_ends_it_at_once(server: ScriptedServer, connect: Connect, stop: Event, answer: Stream | Silence) -> None:
    server.answers(pods(version=7), answer)
    seen = connect(server.url).watch_workload("ns", "w", stop)
    take(seen, 1)
    rest: list[Observation] = []
    consumer = Thread(target=lambda: rest.extend(seen))
    consumer.start()
    while len(server.received) < 2:
        time.sleep(0.01)
    stop.set()
    consumer.join(1)
    assert not consumer.is_alive()
    assert rest == []
    assert server.received[1].query["fieldSelector"] == "metadata.name=w"
    server.closing.set()


def test_a_line_without_end_does_not_fill_the_memory(
    server: ScriptedServer, connect: Connect, stop: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LINE_LIMIT", 1000)
    server.answers(pods(version=7), Stream((b"x" * 5000,), "hang"), Stream((event("ADDED", pod("a")),), "hang"))
    assert take(connect(server.url).watch_pods("ns", Selector(), stop), 2) == [
        ("synced", ""),
        ("seen", "uid-a"),
    ]


def test_objects_without_end_do_not_fill_the_memory(
    server: ScriptedServer, connect: Connect, stop: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_OBJECTS_LIMIT", 3)
    flood = b"".join(event("ADDED", pod(f"p{number}", version=10 + number)) for number in range(1000))
    server.answers(pods(pod("a"), version=7), Stream((flood,), "hang"), Stream((), "hang"))
    with capture_logs() as logs:
        seen = connect(server.url).watch_pods("ns", Selector(), stop)
        assert take(seen, 4) == [("seen", "uid-a"), ("synced", ""), ("seen", "uid-p0"), ("seen", "uid-p1")]
        rest: list[Observation] = []
        consumer = Thread(target=lambda: rest.extend(seen))
        consumer.start()
        end = time.monotonic() + 10
        while not any(log["event"] == "watch_interrupted" for log in logs) and time.monotonic() < end:
            time.sleep(0.01)
        stop.set()
        consumer.join(5)
    assert rest == []
    assert "more than 3 objects" in next(log["cause"] for log in logs if log["event"] == "watch_interrupted")


def test_synced_has_no_object(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pods(version=7), Stream((), "hang"))
    observation = next(connect(server.url).watch_pods("ns", Selector(), stop))
    assert observation == Observation(Change.SYNCED, {})
