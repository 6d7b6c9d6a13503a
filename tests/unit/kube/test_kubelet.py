"""Asking the kubelet on loopback how it is."""

from collections.abc import Callable

import httpx
import pytest

from bridge.kube.kubelet import KubeletProbe

URL = "http://127.0.0.1:10248/healthz"


def probe(answer: Callable[[httpx.Request], httpx.Response]) -> KubeletProbe:
    return KubeletProbe(URL, httpx.MockTransport(answer))


def test_it_is_well() -> None:
    assert probe(lambda _request: httpx.Response(200, text="ok")).complaint() == ""


def test_its_own_word_that_it_is_not() -> None:
    unwell = probe(lambda _request: httpx.Response(500, text="[-]syncloop failed: reason withheld"))
    assert unwell.complaint() == f"{URL} answers with HTTP status 500"


def test_somebody_who_sends_it_elsewhere_is_no_kubelet() -> None:
    elsewhere = probe(lambda _request: httpx.Response(302, headers={"Location": "http://127.0.0.1:1/"}))
    assert "302" in elsewhere.complaint()


def test_nobody_listens() -> None:
    assert "refused" in KubeletProbe("http://127.0.0.1:9/healthz").complaint()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ReadTimeout("timed out"), "does not answer within 5 s"),
        (httpx.RemoteProtocolError("Server disconnected"), "Server disconnected"),
    ],
)
def test_it_hangs_or_speaks_another_language(error: Exception, words: str) -> None:
    def answer(_request: httpx.Request) -> httpx.Response:
        raise error

    assert words in probe(answer).complaint()


def test_an_endless_body_is_not_read() -> None:
    def endless() -> object:
        while True:
            yield b"x"

    response = httpx.Response(500, content=endless())  # type: ignore[arg-type]
    assert "500" in probe(lambda _request: response).complaint()


def test_a_site_without_a_health_port_asks_nobody() -> None:
    assert KubeletProbe("").complaint() == ""
