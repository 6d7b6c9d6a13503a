import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from bridge.config.servers import Slurmrest
from bridge.errors import (
    BridgeError,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from bridge.slurmrest.api import Credential, JobRecord
from bridge.slurmrest.client import SlurmRestClient
from tests.fakes.httpserver import Drop, Reply, ScriptedServer, Silence, Stream

RECORDED = Path(__file__).parent / "recorded"
ME = Credential("ml", "head.sesame.sig")
NO_SUCH_PATH = httpx.Response(404, headers={"Content-Type": "text/plain"}, text="Unable find requested URL.")

Handler = Callable[[httpx.Request], httpx.Response]


def recorded(name: str, version: str = "v0.0.42", slurm: str = "24.11.5") -> httpx.Response:
    said = json.loads((RECORDED / slurm / version / f"{name}.json").read_text())
    return httpx.Response(said["status"], json=said["body"], headers={"Content-Type": said["content_type"]})


def said(status: int, number: int) -> httpx.Response:
    errors = [{"description": "Sorry", "error_number": number, "error": "No", "source": "it"}]
    return httpx.Response(status, json={"jobs": [], "errors": errors, "warnings": []})


def client(answer: httpx.Response | Handler) -> SlurmRestClient:
    handler: Handler = (lambda _: answer) if isinstance(answer, httpx.Response) else answer
    return SlurmRestClient(Slurmrest(url="https://slurm:6820/"), httpx.MockTransport(handler))


def an_element(job_id: int, task: int | None) -> JobRecord:
    record = client(recorded("array")).job(ME, 11)
    return JobRecord(**{**record.__dict__, "job_id": job_id, "array_task_id": task})


@pytest.mark.parametrize("version", ["v0.0.40", "v0.0.41", "v0.0.42"])
def test_a_running_job_is_the_same_in_every_version(version: str) -> None:
    job = client(recorded("running", version)).job(ME, 13)
    assert job == JobRecord(
        job_id=13,
        user_id=2001,
        user_name="ml",
        states=frozenset({"RUNNING"}),
        state_reason="None",
        start_time=job.start_time,
        restart_count=0,
        nodes="n[1-2]",
        batch=True,
        batch_host="n1",
        het_job_id=None,
        array_job_id=None,
        array_task_id=None,
        gpus=(2, 2),
        memory_mib=60,
        comment="k8s=train.yaml",
        stdout="/home/ml/out-13-n1.txt",
        requeue=True,
        time_limit_minutes=60,
        gpu_types=("",),
        cpus=() if version == "v0.0.40" else (2, 2),  # that one does not say
        name=job.name,
        submit_time=job.submit_time,
        eligible_time=job.submit_time,
    )
    assert 1_700_000_000 < job.submit_time <= job.start_time


@pytest.mark.parametrize("version", ["v0.0.40", "v0.0.41", "v0.0.42"])
def test_of_an_array_exactly_this_element(version: str) -> None:
    rest = client(recorded("array", version))
    last, first = rest.job(ME, 10), rest.job(ME, 11)
    assert (last.job_id, last.array_job_id, last.array_task_id, last.stdout) == (
        10,
        10,
        4,
        "/home/ml/o_10_4_wrap_ml.txt",
    )
    assert (first.job_id, first.array_job_id, first.array_task_id, first.gpus) == (11, 10, 3, (1,))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (recorded("unknown"), NotFound),
        (recorded("badtoken"), Unauthenticated),
        (recorded("denied"), Forbidden),
        (recorded("late"), Invalid),
        (recorded("cancelunknown"), NotFound),
        (said(200, 2017), NotFound),
        (said(500, 1007), Unauthenticated),
        (said(500, 2002), Forbidden),
        (said(422, 2084), Invalid),
        (said(500, 2020), Unavailable),
        (said(502, 1800), Unavailable),
        (said(500, -1), Unavailable),
        (httpx.Response(401, text="Authentication failure"), Unauthenticated),
        (httpx.Response(504, json={"errors": []}), Unavailable),
        (httpx.Response(404), Unavailable),
        (httpx.Response(404, html="<html>"), Unavailable),
        (httpx.Response(200, text="no json"), Unavailable),
        (httpx.Response(200, json=[]), Unavailable),
        (httpx.Response(200, json={}), Unavailable),
        (httpx.Response(200, json={"jobs": [], "errors": []}), Unavailable),
        (httpx.Response(200, json={"jobs": [{"job_id": 14}], "errors": []}), Unavailable),
        (httpx.Response(200, json={"jobs": [{"job_id": 13}], "errors": []}), Unsupported),
        (httpx.Response(301, headers={"Location": "https://else/"}), Unavailable),
    ],
)
def test_each_answer_is_one_error(answer: httpx.Response, error: type[BridgeError]) -> None:
    with pytest.raises(error) as raised:
        client(answer).job(ME, 13)
    assert type(raised.value) is error


def test_the_version_is_negotiated_once_and_again_after_a_failure() -> None:
    asked: list[str] = []
    serves, broken = "v0.0.40", False

    def slurmrestd(request: httpx.Request) -> httpx.Response:
        version = request.url.path.split("/")[2]
        asked.append(version)
        if broken:
            return httpx.Response(502)
        return recorded("running", "v0.0.40") if version == serves else NO_SUCH_PATH

    rest = client(slurmrestd)
    with capture_logs() as logs:
        rest.job(ME, 13)
        rest.job(ME, 13)
    assert asked == ["v0.0.42", "v0.0.41", "v0.0.40", "v0.0.40"]
    assert [log["version"] for log in logs] == ["v0.0.40"]
    serves = "v0.0.42"
    asked.clear()
    rest.job(ME, 13)
    assert asked == ["v0.0.40", "v0.0.42"], "an update of Slurm is followed"
    broken = True
    with pytest.raises(Unavailable):
        rest.job(ME, 13)
    broken, serves = False, "v0.0.41"
    asked.clear()
    rest.job(ME, 13)
    assert asked == ["v0.0.42", "v0.0.41"]


def test_a_job_is_asked_for_without_its_federation() -> None:
    """Tried on slurmrestd 24.11.5 in all three versions: the same answer for one RPC less."""
    seen: list[httpx.Request] = []

    def slurmrestd(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return recorded("running")

    client(slurmrestd).job(ME, 13)
    flags = seen[0].url.params.get_list("flags")
    assert set(flags) == {"ALL", "LOCAL", "DETAIL"}
    assert flags[-1] == "DETAIL", "older ones take the last alone, and without it know no share of a node"


def test_no_version_in_common() -> None:
    with pytest.raises(Unsupported, match=r"serves none of v0\.0\.42"):
        client(NO_SUCH_PATH).job(ME, 13)


@pytest.mark.parametrize(
    ("job_id", "task", "path", "body"),
    [
        (11, 3, "/slurm/v0.0.42/job/11", None),
        (10, 4, "/slurm/v0.0.42/jobs/", {"jobs": ["10_4"]}),
    ],
)
def test_cancel_meets_one_element_only(job_id: int, task: int, path: str, body: Any) -> None:
    seen: list[httpx.Request] = []

    def slurmrestd(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return recorded("cancelled")

    client(slurmrestd).cancel(ME, an_element(job_id, task))
    assert (seen[0].method, seen[0].url.path) == ("DELETE", path)
    assert (json.loads(seen[0].content) if seen[0].content else None) == body


def test_a_job_of_another_user_is_deleted_only_with_a_proven_right() -> None:
    """The right is proven by writing back the comment, as it is now and not as it was when the job was learnt."""
    seen: list[httpx.Request] = []
    job = client(recorded("array")).job(ME, 11)

    def slurmrestd(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return recorded("array" if request.method == "GET" else "denied")

    with pytest.raises(Forbidden):
        client(slurmrestd).cancel(Credential("service", "t"), replace(job, comment="of before"))
    assert [request.method for request in seen] == ["GET", "POST"]
    assert json.loads(seen[1].content) == {"comment": job.comment}


def test_the_rest_of_an_array_is_not_cancelled() -> None:
    with pytest.raises(Invalid, match="whole array"):
        client(recorded("cancelled")).cancel(ME, an_element(10, None))


def test_a_job_that_has_ended_is_cancelled() -> None:
    client(recorded("done")).cancel(ME, an_element(11, 3))
    with pytest.raises(NotFound):
        client(recorded("cancelunknown")).cancel(ME, an_element(11, 3))


def test_updates_are_of_one_number_and_as_the_owner() -> None:
    seen: list[httpx.Request] = []

    def slurmrestd(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"errors": [], "warnings": []})

    rest = client(slurmrestd)
    rest.set_comment(ME, an_element(10, 4), "ünser Satz")
    assert {(request.method, request.url.path) for request in seen} == {("POST", "/slurm/v0.0.42/job/10")}
    assert [json.loads(request.content) for request in seen] == [{"comment": "ünser Satz"}]
    for request in seen:
        assert request.headers["X-SLURM-USER-NAME"] == "ml"
        assert request.headers["X-SLURM-USER-TOKEN"] == "head.sesame.sig"
        assert request.headers["Content-Type"] == "application/json"


def test_no_token_is_ever_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    with pytest.raises(Unavailable, match="connection refused") as raised:
        client(broken).job(ME, 13)
    assert raised.value.__cause__ is raised.value.__context__ is None
    assert "sesame" not in repr(raised.value) + repr(ME) + caplog.text


@pytest.mark.parametrize("token", ["", "two words", "sesame\nX-Evil: 1", "sésame"])
def test_what_cannot_be_a_token_is_not_sent(token: str) -> None:
    with pytest.raises(Unauthenticated) as raised:
        client(recorded("running")).job(Credential("ml", token), 13)
    assert "same" not in str(raised.value)


@pytest.mark.parametrize("answer", [Silence(), Drop(), Stream((b"{",), "hang"), Stream((b"{",), "cut")])
def test_a_broken_server_is_unavailable_in_time(answer: Silence | Drop | Stream) -> None:
    with ScriptedServer() as server:
        server.answers(answer)
        rest = SlurmRestClient(Slurmrest(url=server.url, timeout=0.3))
        with pytest.raises(Unavailable):
            rest.job(ME, 13)
        rest.close()


def test_an_answer_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.slurmrest.client._BODY_LIMIT", 100_000)
    with ScriptedServer() as server:
        server.answers(*[Reply(b" " * 200_000 + b"{}")] * 3)
        rest = SlurmRestClient(Slurmrest(url=server.url, timeout=5))
        with pytest.raises(Unavailable, match="more than 100000 bytes"):
            rest.job(ME, 13)
        rest.close()


def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with ScriptedServer() as server:
        server.answers(Drop())
        rest = SlurmRestClient(Slurmrest(url=server.url, timeout=1))
        with pytest.raises(Unavailable):
            rest.job(ME, 13)
        rest.close()
        assert len(server.received) == 1
