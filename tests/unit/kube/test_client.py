import json
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from urllib3.connection import HTTPConnection

from bridge.errors import (
    BridgeError,
    ConfigError,
    Conflict,
    Forbidden,
    ForeignServer,
    Invalid,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from bridge.kube import transport
from bridge.kube.api import Selector
from bridge.kube.credentials import Credentials
from tests.fakes.authority import make_authority
from tests.fakes.httpserver import Drop, Reply, ScriptedServer, Silence
from tests.unit.kube.conftest import Connect, kubeconfig

POD = {"metadata": {"name": "p", "uid": "u1", "namespace": "ns", "managedFields": [1]}, "spec": {}}


def status(code: int, reason: str, message: str = "no", **headers: str) -> Reply:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    return Reply(body, code, headers)


def page(*items: Any, more: str = "") -> Reply:
    return Reply({"items": list(items), "metadata": {"resourceVersion": "7", "continue": more}})


def test_an_object_comes_without_managed_fields(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply(POD))
    assert connect(server.url).pod("ns", "p") == {
        "metadata": {"name": "p", "uid": "u1", "namespace": "ns"},
        "spec": {},
    }
    assert server.received[0].path == "/api/v1/namespaces/ns/pods/p"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (status(403, "Forbidden", "exceeded quota: gpu"), Forbidden),
        (status(404, "NotFound"), NotFound),
        (status(409, "AlreadyExists"), Conflict),
        (status(400, "BadRequest"), Invalid),
        (status(422, "Invalid"), Invalid),
        (status(413, "RequestEntityTooLarge"), Invalid),
        (Reply(b"404 page not found", 404), Unavailable),
        (Reply({"kind": "Thing"}, 404), Unavailable),
        (status(429, "TooManyRequests", **{"Retry-After": "7"}), Unavailable),
        (status(500, "InternalError", "failed calling webhook"), Unavailable),
        (Reply(b"<html>", 502), Unavailable),
        (Reply(b"", 301, {"Location": "http://127.0.0.1:1/"}), Unavailable),
        (Reply(b"<html>", 200), Unavailable),
        (Reply([], 200), Unavailable),
        (Reply({"kind": "Status"}, 200), None),
        (Drop(), Unavailable),
    ],
)
def test_each_answer_is_one_error(
    server: ScriptedServer, connect: Connect, answer: Reply, error: type[BridgeError] | None
) -> None:
    server.answers(answer)
    client = connect(server.url)
    if error is None:
        client.create_workload("ns", {})
        return
    with pytest.raises(error) as raised:
        client.create_workload("ns", {})
    assert type(raised.value) is error
    assert len(server.received) == 1


def test_the_servers_words_reach_the_person(server: ScriptedServer, connect: Connect) -> None:
    server.answers(status(403, "Forbidden", "exceeded quota: gpu"))
    with pytest.raises(Forbidden, match="exceeded quota: gpu") as raised:
        connect(server.url).create_workload("ns", {})
    assert (raised.value.status, raised.value.reason) == (403, "Forbidden")


def test_retry_after_is_handed_on(server: ScriptedServer, connect: Connect) -> None:
    server.answers(status(429, "TooManyRequests", **{"Retry-After": "7"}))
    with pytest.raises(Unavailable) as raised:
        connect(server.url).pod("ns", "p")
    assert raised.value.retry_after == 7
    assert len(server.received) == 1, "seven seconds do not fit into the call's five"


def test_a_retry_after_of_a_day_is_a_minute(server: ScriptedServer, connect: Connect) -> None:
    server.answers(status(429, "TooManyRequests", **{"Retry-After": "86400"}))
    with pytest.raises(Unavailable) as raised:
        connect(server.url).pod("ns", "p")
    assert raised.value.retry_after == 60


@pytest.mark.parametrize("code", [200, 500])
def test_an_answer_without_end_does_not_fill_the_memory(
    server: ScriptedServer, connect: Connect, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(transport, "_BODY_LIMIT", 100_000)
    server.answers(*[Reply(b" " * 200_000 + b"{}", code)] * 3)
    with pytest.raises(Unavailable, match="has more than 100000 bytes"):
        connect(server.url).pod("ns", "p")


def test_a_novel_of_a_webhook_is_cut(server: ScriptedServer, connect: Connect) -> None:
    server.answers(status(403, "Forbidden", "x" * 100_000))
    with pytest.raises(Forbidden) as raised:
        connect(server.url).create_workload("ns", {})
    assert len(str(raised.value)) == len("Kubernetes: ") + 2000


def test_a_read_is_tried_again(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Drop(), Reply(b"", 503), Reply(POD))
    assert connect(server.url).pod("ns", "p")["metadata"]["uid"] == "u1"


def test_a_create_and_a_patch_are_not(server: ScriptedServer, connect: Connect) -> None:
    client = connect(server.url)
    server.answers(Reply(b"", 503))
    with pytest.raises(Unavailable):
        client.create_workload("ns", {})
    server.answers(Drop())
    with pytest.raises(Unavailable):
        client.patch_pod("ns", "p", [])
    assert [request.method for request in server.received] == ["POST", "PATCH"]


def test_a_dead_server_ends_at_the_deadline(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Silence(), Silence(), Silence())
    begun = time.monotonic()
    with pytest.raises(Unavailable, match="timed out"):
        connect(server.url, timeout=0.6).pod("ns", "p")
    assert time.monotonic() - begun < 1.5
    assert len(server.received) >= 2, "a dead connection leaves time for another"


def test_behind_a_call_that_ran_out_there_is_more_time(server: ScriptedServer, connect: Connect) -> None:
    """A server that a thousand ask at once works for nobody, if each gives up and asks anew."""
    client = connect(server.url, timeout=1.0)
    server.answers(Silence(), Silence())
    with pytest.raises(Unavailable, match="timed out"):
        client.pod("ns", "p")
    server.answers(Reply(POD, after=0.9))
    assert client.pod("ns", "p")["metadata"]["uid"] == "u1"
    assert len(server.received) == 3, "nothing was asked twice"


def test_nobody_listens(connect: Connect) -> None:
    with pytest.raises(Unavailable):
        connect("http://127.0.0.1:1", timeout=1).node("n")


def test_a_create_is_strict(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply({"made": 1}, 201))
    assert connect(server.url).create_workload("ns", {"a": 1}) == {"made": 1}
    request = server.received[0]
    assert request.path == "/apis/kubeflow.org/v1/namespaces/ns/pytorchjobs"
    assert request.query == {"fieldValidation": "Strict", "timeout": "3500ms"}
    assert request.json() == {"a": 1}
    assert request.headers["Content-Type"] == "application/json"


def test_the_server_gives_a_create_up_before_we_do(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply({"made": 1}, 201))
    connect(server.url, timeout=4.2).create_workload("ns", {})
    assert server.received[0].query["timeout"] == "2940ms"


def test_a_patch_is_a_json_patch(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply(POD))
    connect(server.url).patch_pod("ns", "p", [{"op": "test", "path": "/metadata/uid", "value": "u1"}])
    assert server.received[0].headers["Content-Type"] == "application/json-patch+json"
    assert server.received[0].json()[0]["op"] == "test"


def test_a_delete_names_its_uid(server: ScriptedServer, connect: Connect) -> None:
    client = connect(server.url)
    server.answers(Reply({}), Reply({}))
    client.delete_workload("ns", "w", "u1")
    client.delete_pod("ns", "p", "u1")
    workload, pod = (request.json() for request in server.received)
    assert (workload["preconditions"], workload["propagationPolicy"]) == ({"uid": "u1"}, "Foreground")
    assert pod["preconditions"] == {"uid": "u1"}
    assert "propagationPolicy" not in pod


def test_another_object_of_that_name_means_ours_is_gone(server: ScriptedServer, connect: Connect) -> None:
    client = connect(server.url)
    server.answers(status(409, "Conflict"), Reply(POD))
    with pytest.raises(NotFound):
        client.delete_pod("ns", "p", "older")
    server.answers(status(409, "Conflict"), Reply(POD))
    with pytest.raises(Conflict):
        client.delete_pod("ns", "p", "u1")
    server.answers(status(409, "Conflict"), status(404, "NotFound"))
    with pytest.raises(NotFound):
        client.delete_pod("ns", "p", "u1")


def test_a_list_is_consistent_selected_and_whole(server: ScriptedServer, connect: Connect) -> None:
    """Where the server has no watch that begins with what is there: else test_listing.py."""
    server.answers(
        status(422, "Invalid"), page(POD, more="next"), page({**POD, "metadata": {"name": "q", "uid": "u2"}})
    )
    selector = Selector(name="p", labels={"a/b": "c", "d": "e"}, node="n1")
    pods = connect(server.url).list_pods("ns", selector)
    assert [pod["metadata"]["name"] for pod in pods] == ["p", "q"]
    _, first, second = server.received
    assert first.query["labelSelector"] == "a/b=c,d=e"
    assert first.query["fieldSelector"] == "metadata.name=p,spec.nodeName=n1"
    assert "resourceVersion" not in first.query
    assert second.query["continue"] == "next"


def test_a_survey_is_cheap_and_whole(server: ScriptedServer, connect: Connect) -> None:
    first, second = {"metadata": {"name": "v", "uid": "u0"}}, {"metadata": {"name": "w", "uid": "u1"}}
    server.answers(page(first, more="next"), page(second))
    assert connect(server.url).survey_workloads("ns", {"a": "b"}) == [first, second]
    begin, rest = server.received
    assert begin.query == {"labelSelector": "a=b", "resourceVersion": "0", "limit": "500"}
    assert rest.query == {"labelSelector": "a=b", "continue": "next", "limit": "500"}, "both would be refused"
    assert {request.headers["Accept"] for request in server.received} == {
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    }


def test_a_survey_of_nothing(server: ScriptedServer, connect: Connect) -> None:
    nothing = {"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "7"}, "items": None}
    server.answers(Reply(nothing))
    assert connect(server.url).survey_workloads("ns", {}) == []
    for answer in (nothing | {"kind": "PodList"}, {"kind": nothing["kind"], "metadata": {}}):
        server.route = lambda _, answer=answer: Reply(answer)
        with pytest.raises(Unavailable, match="not a list"):
            connect(server.url).survey_workloads("ns", {})


def test_an_empty_answer_is_no_empty_list(server: ScriptedServer, connect: Connect) -> None:
    server.route = lambda asked: status(422, "Invalid") if "watch" in asked.query else Reply({})
    with pytest.raises(Unavailable, match="not a list"):
        connect(server.url).list_pods("ns", Selector())


def test_events_are_told_in_order(server: ScriptedServer, connect: Connect) -> None:
    def event(name: str, **times: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:09Z"}, **times}

    server.answers(
        page(
            event("third"),
            event("second", eventTime="2026-01-01T00:00:05.000000Z"),
            event("first", lastTimestamp="2026-01-01T00:00:01Z"),
        )
    )
    events = connect(server.url).events_of("ns", "u1")
    assert [event["metadata"]["name"] for event in events] == ["first", "second", "third"]
    assert server.received[0].query["fieldSelector"] == "involvedObject.uid=u1"


def test_events_are_created_and_found_by_their_reason(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply(POD), Reply({"metadata": {}, "items": []}))
    client = connect(server.url)
    client.create_event("ns", {"reason": "R", "metadata": {"name": "e"}})
    assert client.events_because("ns", "R") == []
    created, listed = server.received
    assert (created.method, created.path) == ("POST", "/api/v1/namespaces/ns/events")
    assert (listed.path, listed.query["fieldSelector"]) == (created.path, "reason=R")


def test_connections_are_used_again(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply(POD), Reply(POD), status(404, "NotFound"), Reply(POD))
    client = connect(server.url)
    client.pod("ns", "p")
    client.pod("ns", "p")
    with pytest.raises(NotFound):
        client.pod("ns", "p")
    client.pod("ns", "p")
    assert {request.connection for request in server.received} == {0}


def test_a_server_that_died_without_a_word_is_noticed_within_seconds(server: ScriptedServer, tmp_path: Path) -> None:
    """Before `attach` gives up the last lines: ten seconds after the end."""
    server.answers(Reply(POD))
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig(server.url))
    opened = transport.Transport(path, 5.0).open(transport.Request("GET", "/log"), 300.0)
    try:
        assert isinstance(opened.connection, HTTPConnection)
        sock = opened.connection.sock
        idle, interval, count = (
            sock.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert idle + interval < 10 and idle + interval * count < 15
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    finally:
        opened.close()


def test_a_proxy_of_the_environment_is_ignored(
    server: ScriptedServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.answers(Reply(POD))
    connect(server.url).pod("ns", "p")


def test_a_changed_token_file_is_used_at_once(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    server.route = lambda _: Reply(POD)
    client = connect(server.url, tokenFile="token", token="inline")
    client.pod("ns", "p")
    token.write_text("second-one\n")
    client.pod("ns", "p")
    assert [request.headers["Authorization"] for request in server.received] == [
        "Bearer first",
        "Bearer second-one",
    ]


def test_a_refused_credential_is_read_again_once(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    client = connect(server.url, tokenFile="token")
    server.answers(
        status(401, "Unauthorized"), Reply({}, 201), status(401, "Unauthorized"), status(401, "Unauthorized")
    )
    client.create_workload("ns", {})
    with pytest.raises(Unauthenticated):
        client.create_workload("ns", {})
    assert len(server.received) == 4


def test_a_refused_credential_without_anything_new_in_it_fills_no_log(
    server: ScriptedServer, connect: Connect, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("first")
    client = connect(server.url, tokenFile="token")
    server.route = lambda _: status(401, "Unauthorized")
    with capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(Unauthenticated):
                client.create_workload("ns", {})
        (tmp_path / "token").write_text("second-one")
        with pytest.raises(Unauthenticated):
            client.create_workload("ns", {})
    levels = [log["log_level"] for log in logs if log["event"] == "kube_credential_read"]
    assert levels == ["debug"] * 3 + ["info", "debug"]


def test_an_unreadable_token_keeps_the_old_one(server: ScriptedServer, connect: Connect, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    server.route = lambda _: Reply(POD)
    client = connect(server.url, tokenFile="token")
    token.unlink()
    client.pod("ns", "p")
    token.write_text("second")
    client.pod("ns", "p")
    assert [request.headers["Authorization"] for request in server.received] == [
        "Bearer first",
        "Bearer second",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a: b",
        "{",
        kubeconfig("http://x", tokenFile="missing"),
        kubeconfig("http://x", token="se cret"),
    ],
)
def test_a_bad_kubeconfig_is_told_at_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(ConfigError, match="bad") as raised:
        Credentials(path)
    assert "se cret" not in str(raised.value)


def test_a_kubeconfig_of_another_server_is_refused_and_never_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig("https://there:6443", token="one"))
    with pytest.raises(
        ForeignServer, match="names the API server https://there:6443, and this node's own kubeconfig https://here"
    ):
        Credentials(path, "https://here:6443")
    credentials = Credentials(path, "https://there:6443")
    for server, token in (("https://here:6443", "two"), ("https://there:6443", "three")):
        path.write_text(kubeconfig(server, token=token))
        assert credentials.session().host == "https://there:6443"
    credentials.close()


def test_no_exception_shows_the_kubeconfigs_lines(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("users: [{user: {token: 'sesame}}]")
    with pytest.raises(ConfigError) as raised:
        Credentials(path)
    assert "sesame" not in repr(raised.value) + repr(raised.value.__cause__)


def test_tls_and_a_renewed_authority(tmp_path: Path, connect: Connect) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for directory in (old, new):
        directory.mkdir()
        make_authority(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(new / "server.pem", new / "server.key")
    ca = tmp_path / "ca.pem"
    ca.write_bytes((old / "ca.pem").read_bytes())
    with ScriptedServer(context) as server:
        server.route = lambda _: Reply(POD)
        client = connect(server.url, ca=ca, timeout=10)
        with pytest.raises(Unavailable, match="nobody whom the kubeconfig names"):
            client.pod("ns", "p")
        ca.write_bytes((new / "ca.pem").read_bytes() + b"\n")
        assert client.pod("ns", "p")["metadata"]["name"] == "p"


def test_the_body_of_a_delete_is_json(server: ScriptedServer, connect: Connect) -> None:
    server.answers(Reply({}))
    connect(server.url).delete_pod("ns", "p", "u1")
    assert json.loads(server.received[0].body)["kind"] == "DeleteOptions"
