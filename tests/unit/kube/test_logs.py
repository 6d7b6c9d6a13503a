import time
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from bridge.errors import Forbidden, Invalid, NotFound
from bridge.kube import logs, stream
from bridge.kube.api import LAST_LOG_LIMIT, LogPiece
from tests.fakes.httpserver import Drop, Reply, ScriptedServer, Stream
from tests.unit.kube.conftest import Connect
from tests.unit.kube.test_client import status


@pytest.fixture
def stop() -> Iterator[Event]:
    stop = Event()
    yield stop
    stop.set()


def pod(state: str, uid: str = "u1", phase: str = "Running") -> Reply:
    statuses = [{"name": "c", "state": {state: {}}}] if state else []
    body: dict[str, Any] = {"metadata": {"name": "p", "uid": uid}, "spec": {"containers": [{"name": "c"}]}}
    return Reply({**body, "status": {"phase": phase, "containerStatuses": statuses}})


def at(second: int, nanos: int = 0) -> str:
    return f"2026-01-01T00:00:{second:02d}.{nanos:09d}Z"


def text(second: int, line: bytes, nanos: int = 0) -> bytes:
    return at(second, nanos).encode() + b" " + line


def lines(followed: Iterator[LogPiece]) -> list[bytes]:
    return b"".join(piece.data for piece in followed).splitlines(keepends=True)


def test_the_log_of_an_ended_container(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pod("terminated"), Stream((text(1, b"one\n"), text(2, b"\n"), text(3, b"last"))))
    followed = list(connect(server.url).follow_log("ns", "p", "c", "", stop))
    assert b"".join(piece.data for piece in followed) == b"one\n\nlast"
    assert followed[-1] == LogPiece(f"{at(3)} 0 4", b"last")
    query = server.received[1].query
    assert query == {"container": "c", "follow": "true", "timestamps": "true"}


def test_it_waits_for_the_start(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(
        pod("", phase="Pending"),
        pod("waiting", phase="Pending"),
        pod("running"),
        status(400, "BadRequest", 'container "c" in pod "p" is waiting to start: ContainerCreating'),
        pod("terminated"),
        Stream((text(1, b"one\n"),)),
    )
    assert lines(connect(server.url).follow_log("ns", "p", "c", "", stop)) == [b"one\n"]


def test_a_broken_stream_goes_on_without_loss_or_repetition(
    server: ScriptedServer, connect: Connect, stop: Event
) -> None:
    first = text(1, b"one\n") + text(1, b"two\n", 5) + text(1, b"same stamp\n", 5)
    server.answers(
        pod("running"),
        Stream((first, text(2, b"half a li")), "cut"),
        pod("running"),
        Drop(),
        pod("running"),
        Stream((first, text(1, b"third of that stamp\n", 5), text(2, b"half a line\n"))),
        pod("terminated"),
        Stream((text(2, b"half a line\n"), text(3, b"end\n"))),
    )
    assert lines(connect(server.url).follow_log("ns", "p", "c", "", stop)) == [
        b"one\n",
        b"two\n",
        b"same stamp\n",
        b"third of that stamp\n",
        b"half a line\n",
        b"end\n",
    ]
    assert [request.query.get("sinceTime") for request in server.received if request.path.endswith("log")] == [
        None,
        at(1, 5),
        at(1, 5),
        at(2),
    ]


def test_what_a_watch_knows_is_not_asked_for(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    over = iter([False, False])  # before the opening, and when it had ended
    server.answers(Stream((text(1, b"one\n"),)), Stream((text(1, b"one\n"), text(2, b"two\n"))))
    followed = connect(server.url).follow_log("ns", "p", "c", "", stop, lambda: next(over, True))
    assert lines(followed) == [b"one\n", b"two\n"]
    assert [request.path.rpartition("/")[2] for request in server.received] == ["log", "log"]


def test_an_end_that_no_watch_explains_is_asked_about(
    server: ScriptedServer, connect: Connect, stop: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_MOMENT", 0.1)
    first, last = text(1, b"one\n"), text(2, b"two\n")
    server.answers(Stream((first,)), pod("running"), Stream((first, last)), pod("terminated"), Stream((last,)))
    followed = connect(server.url).follow_log("ns", "p", "c", "", stop, lambda: False)
    assert lines(followed) == [b"one\n", b"two\n"]


def test_a_stream_that_broke_is_asked_about(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    first, last = text(1, b"one\n"), text(2, b"two\n")
    server.answers(Stream((first,), "cut"), pod("running"), Stream((first, last)), Stream((last,)))
    over = iter([False, False])  # before the first opening, and the second's question
    followed = connect(server.url).follow_log("ns", "p", "c", "", stop, lambda: next(over, True))
    assert lines(followed) == [b"one\n", b"two\n"]
    assert [request.path.rpartition("/")[2] for request in server.received] == ["log", "p", "log", "log"]


def test_it_begins_after_a_stamp(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pod("terminated"), Stream((text(1, b"one\n", 1), text(1, b"two\n", 2), text(1, b"three\n", 3))))
    assert lines(connect(server.url).follow_log("ns", "p", "c", at(1, 2), stop)) == [b"three\n"]
    assert server.received[1].query["sinceTime"] == at(1, 2)


def test_a_long_line_comes_in_pieces_and_is_resumed_inside(
    server: ScriptedServer, connect: Connect, stop: Event
) -> None:
    long = bytes(range(256)).replace(b"\n", b"") * 4200 + b"\n"
    whole = text(1, long)
    server.answers(
        pod("running"),
        Stream((whole[:300_000],), "cut"),
        pod("running"),
        Stream((whole[:700_000],), "cut"),
        pod("terminated"),
        Stream((whole, text(2, b"end"))),
    )
    followed = list(connect(server.url).follow_log("ns", "p", "c", "", stop))
    assert b"".join(piece.data for piece in followed) == long + b"end"
    assert max(len(piece.data) for piece in followed) <= 128 * 1024


def test_a_clock_set_back_hides_no_line(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pod("terminated"), Stream((text(9, b"one\n"), text(3, b"two\n"), text(3, b"three\n"))))
    assert lines(connect(server.url).follow_log("ns", "p", "c", "", stop)) == [b"one\n", b"two\n", b"three\n"]


def test_stamps_of_other_zones_compare(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    later = b"2026-01-01T01:00:02.5+01:00 two\n"
    server.answers(pod("terminated"), Stream((text(2, b"one\n"), later)))
    assert lines(connect(server.url).follow_log("ns", "p", "c", at(2, 1), stop)) == [b"two\n"]


def test_the_runtimes_own_words_are_no_output(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pod("terminated"), Stream((b"unable to retrieve container logs for containerd://1",)))
    assert lines(connect(server.url).follow_log("ns", "p", "c", "", stop)) == []


def test_a_pod_that_never_ran_has_no_log(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pod("", phase="Failed"), status(400, "BadRequest", "waiting to start"))
    assert lines(connect(server.url).follow_log("ns", "p", "c", "", stop)) == []


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ([status(404, "NotFound")], NotFound),
        ([pod("running"), Stream(()), pod("running", uid="u2")], NotFound),
        ([Reply({"metadata": {"uid": "u", "name": "p"}, "spec": {"containers": [{"name": "x"}]}})], Invalid),
        ([pod("running"), status(403, "Forbidden")], Forbidden),
    ],
)
def test_what_ends_it(
    server: ScriptedServer, connect: Connect, stop: Event, answers: list[Any], error: type[Exception]
) -> None:
    server.answers(*answers)
    with pytest.raises(error):
        list(connect(server.url).follow_log("ns", "p", "c", "", stop))


def test_stop_ends_it_and_keeps_half_a_line_back(server: ScriptedServer, connect: Connect, stop: Event) -> None:
    server.answers(pod("running"), Stream((text(1, b"one\n"), text(2, b"hal")), "hang"))
    followed = connect(server.url).follow_log("ns", "p", "c", "", stop)
    assert next(followed).data == b"one\n"
    stop.set()
    assert list(followed) == []


def test_a_reader_that_does_not_read_holds_the_server_back() -> None:
    """The consumer takes one piece and pauses: no more than a bound is read ahead."""
    given: list[int] = []

    class Endless:
        chunked = False

        def read1(self, size: int) -> bytes:
            given.append(size)
            return b"x" * size

        def shutdown(self) -> None: ...

        def close(self) -> None: ...

    stop = Event()
    response: Any = Endless()
    source = stream.chunks(lambda: response, stop)
    assert next(source)
    while sum(given) < stream._MOST_AHEAD:
        time.sleep(0.01)
    time.sleep(0.2)
    assert sum(given) <= stream._MOST_TAKEN + stream._MOST_AHEAD + stream._CHUNK
    stop.set()
    source.close()


# -- the last lines


def test_the_last_lines_are_asked_for_and_cut(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Stream((b"x" * LAST_LOG_LIMIT, b"end\n")))
    told = connect(server.url).last_log("ns", "p", "c", 5)
    assert (len(told), told[-5:]) == (LAST_LOG_LIMIT, b"xend\n")
    assert server.received[0].query == {"container": "c", "tailLines": "5"}


def test_a_container_that_has_not_started_has_no_last_lines(server: ScriptedServer, connect: Connect) -> None:
    server.answers(status(400, "BadRequest", 'container "c" in pod "p" is waiting to start: ContainerCreating'))
    with pytest.raises(Invalid, match="waiting to start"):
        connect(server.url).last_log("ns", "p", "c", 5)
