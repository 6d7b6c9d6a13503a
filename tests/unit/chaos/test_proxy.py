"""The proxies of chaos: what arrives and what comes back in each weather."""

import gc
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.certificates import Authority
from tests.chaos.plan import Fault, Harm, Server
from tests.chaos.proxy import Proxy

NODE = "compute1"


class Upstream(ThreadingHTTPServer):
    """Keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, bytes]] = []
        self.may_answer = threading.Event()
        """Set but where a test wants to be there before the answer."""
        self.may_answer.set()
        self.changed = threading.Condition()


class Handler(BaseHTTPRequestHandler):
    """Answers with what it was sent."""

    server: Upstream
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.changed:
            self.server.asked.append((self.path, body))
            self.server.changed.notify_all()
        if self.path == "/slow":
            assert self.server.may_answer.wait(10)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Way:
    """A client, what its requests go through, and where they arrive."""

    client: httpx.Client
    proxy: Proxy
    server: Upstream

    @property
    def asked(self) -> list[tuple[str, bytes]]:
        return self.server.asked

    def post(self, path: str = "/", body: bytes = b"body") -> httpx.Response:
        return self.client.post(path, content=body)

    @contextmanager
    def weather(self, harm: Harm, seconds: float = 60, share: float = 1.0) -> Iterator[None]:
        self.proxy.strike(NODE, Fault(0.0, harm, 0, Server.KUBERNETES, seconds, share))
        yield
        assert self.proxy.weathers[NODE].met[harm] > 0
        self.proxy.clear()


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Way]:
    authority = Authority()
    pair = authority.issue()
    (tmp_path / "ca.pem").write_text(authority.own.certificate)
    (tmp_path / "pair.pem").write_text(pair.certificate + pair.key)
    server = Upstream()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    proxy = Proxy(
        "127.0.0.1",
        ("127.0.0.1", server.server_address[1]),
        "127.0.0.1",
        (pair.certificate, pair.key),
        str(tmp_path / "ca.pem"),
        {"127.0.0.1": NODE},
    )
    trust = ssl.create_default_context(cafile=tmp_path / "ca.pem")
    with httpx.Client(base_url=f"https://127.0.0.1:{proxy.port}", verify=trust, trust_env=False, timeout=5) as client:
        yield Way(client, proxy, server)
    proxy.close()
    server.shutdown()
    server.server_close()
    thread.join()


def test_in_fine_weather_all_arrives_over_one_connection(way: Way) -> None:
    for number in range(3):
        assert way.post(f"/{number}", b"x" * 200_000 * number).content == b"x" * 200_000 * number
    assert [path for path, _ in way.asked] == ["/0", "/1", "/2"]


def test_a_refused_connection(way: Way) -> None:
    with way.weather(Harm.REFUSED), pytest.raises(httpx.TransportError):
        way.post()
    assert way.asked == []
    assert way.post().status_code == 200


def test_nobody_answers_until_it_is_over(way: Way) -> None:
    began = time.monotonic()  # and two seconds are longer than a slow machine needs to ask
    with way.weather(Harm.SILENT, seconds=2), pytest.raises(httpx.TransportError):
        way.post()
    assert time.monotonic() - began >= 2
    assert way.asked == []


def test_what_is_under_way_is_cut(way: Way) -> None:
    assert way.post().status_code == 200
    with way.weather(Harm.CUT):
        pass
    way.post()  # the client begins anew, where its connection has gone


def test_an_answer_is_lost_and_the_request_has_arrived(way: Way) -> None:
    with way.weather(Harm.LOST), pytest.raises(httpx.TransportError):
        way.post("/lost")
    assert way.asked == [("/lost", b"body")]


def test_a_request_arrives_twice(way: Way) -> None:
    with way.weather(Harm.TWICE):
        assert way.post("/twice").content == b"body"
    assert way.asked == [("/twice", b"body")] * 2


def test_a_request_arrives_twice_though_its_client_has_gone(way: Way) -> None:
    way.server.may_answer.clear()
    with way.weather(Harm.TWICE):
        with pytest.raises(httpx.ReadTimeout):
            way.client.post("/slow", content=b"body", timeout=1)
        assert way.asked == [("/slow", b"body")]
    assert way.post("/next").is_success  # by then the proxy knows that the other one has gone
    gc.collect()
    way.server.may_answer.set()
    with way.server.changed:
        assert way.server.changed.wait_for(lambda: way.asked.count(("/slow", b"body")) == 2, 5)


def test_an_answer_comes_late(way: Way) -> None:
    began = time.monotonic()
    with way.weather(Harm.LATE):
        assert way.post().content == b"body"
    assert time.monotonic() - began > 0.05


def test_an_error_in_the_place_of_the_server(way: Way) -> None:
    with way.weather(Harm.ERRORS):
        assert way.post().status_code in (429, 500, 502, 503, 504)
    assert way.asked == []
    assert way.post().status_code == 200


def test_a_share_of_the_requests(way: Way) -> None:
    with way.weather(Harm.ERRORS, share=0.5):
        statuses = [way.post().status_code for _ in range(40)]
    assert 5 < statuses.count(200) < 35
