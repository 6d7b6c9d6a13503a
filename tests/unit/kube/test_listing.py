"""Consistent lists that are a watch's beginning."""

import time
from typing import Any

import pytest

from bridge.errors import Unavailable
from bridge.kube.api import Selector
from bridge.kube.client import KubernetesClient
from tests.fakes.httpserver import Reply, ScriptedServer, Silence, Stream
from tests.unit.kube.conftest import Connect
from tests.unit.kube.test_watch import EXPIRED, event, pod, pods
from tests.unit.kube.test_watch_list import REFUSED, all_told


def names(client: KubernetesClient, selector: Selector | None = None) -> list[Any]:
    return [pod["metadata"]["name"] for pod in client.list_pods("ns", selector or Selector())]


def test_it_is_all_that_is_there_as_of_now(server: ScriptedServer, connect: Connect) -> None:
    server.answers(
        Stream(
            (
                event("ADDED", pod("a"))[:20],
                event("ADDED", pod("a"))[20:] + all_told(7),
            ),
            "hang",
        )
    )
    assert names(connect(server.url), Selector(name="a", labels={"b": "c"}, node="n1")) == ["a"]
    (asked,) = server.received
    assert asked.query["sendInitialEvents"] == asked.query["allowWatchBookmarks"] == asked.query["watch"] == "true"
    assert asked.query["resourceVersionMatch"] == "NotOlderThan"
    assert "resourceVersion" not in asked.query, "as of now, by etcd's quorum"
    assert asked.query["fieldSelector"] == "metadata.name=a,spec.nodeName=n1"
    assert asked.query["labelSelector"] == "b=c"


def test_what_changes_meanwhile_is_as_it_was_last(server: ScriptedServer, connect: Connect) -> None:
    begun = [("ADDED", pod("a")), ("ADDED", pod("b", "old")), ("DELETED", pod("a")), ("MODIFIED", pod("b", "new"))]
    server.answers(Stream((b"".join(event(*each) for each in begun) + all_told(7),), "hang"))
    (left,) = connect(server.url).list_pods("ns", Selector())
    assert left["metadata"]["uid"] == "new"


def test_an_earlier_bookmark_ends_nothing(server: ScriptedServer, connect: Connect) -> None:
    early = event("BOOKMARK", {"metadata": {"resourceVersion": "3"}})
    server.answers(Stream((early + event("ADDED", pod("a")) + all_told(7),), "hang"))
    assert names(connect(server.url)) == ["a"]


def test_a_server_that_cannot_is_asked_for_a_list(server: ScriptedServer, connect: Connect) -> None:
    client = connect(server.url)
    server.answers(REFUSED, pods(pod("a")), pods(pod("b")))
    assert [names(client), names(client)] == [["a"], ["b"]]
    assert ["watch" in request.query for request in server.received] == [True, False, False]


def test_one_that_does_not_come_to_the_end_is_asked_for_a_list(server: ScriptedServer, connect: Connect) -> None:
    """Half of what is there is no proof: nothing of it counts."""
    server.answers(Stream((), "end"), pods(pod("a")), Stream((event("ADDED", pod("b")),), "end"), pods())
    client = connect(server.url)
    assert names(client) == ["a"]
    assert names(client) == []


@pytest.mark.parametrize("broken", [EXPIRED, b"no event\n", event("ADDED", pod("a"))])
def test_a_watch_that_breaks_is_begun_anew(server: ScriptedServer, connect: Connect, broken: bytes) -> None:
    server.answers(Stream((broken,), "cut"), Stream((event("ADDED", pod("b")) + all_told(9),), "hang"))
    assert names(connect(server.url)) == ["b"]


def test_one_that_never_answers_is_asked_for_a_list_at_last(server: ScriptedServer, connect: Connect) -> None:
    client = connect(server.url, timeout=0.3)
    server.route = lambda asked: Silence() if "watch" in asked.query else pods(pod("a"))
    for _ in range(3):
        with pytest.raises(Unavailable):
            client.list_pods("ns", Selector())
    assert names(client) == ["a"]
    with pytest.raises(Unavailable):
        client.list_pods("ns", Selector())


def test_it_ends_within_its_time(server: ScriptedServer, connect: Connect) -> None:
    begun = time.monotonic()
    server.route = lambda _: Stream((event("ADDED", pod("a")),), "hang")
    with pytest.raises(Unavailable):
        connect(server.url, timeout=0.5).list_pods("ns", Selector())
    assert time.monotonic() - begun < 5


def test_nobody_waits_for_what_comes_behind(server: ScriptedServer, connect: Connect) -> None:
    """The connection is closed, and the next question has one of its own."""
    client = connect(server.url)
    server.answers(Stream((all_told(7),), "hang"), Stream((all_told(8),), "hang"), Reply(pod("a")))
    assert (names(client), names(client)) == ([], [])
    client.pod("ns", "a")
    assert len({request.connection for request in server.received}) == 3
