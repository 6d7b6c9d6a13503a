"""The way to slurmrestd: its certificate, its socket, and what is not one."""

import shutil
import socketserver
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from bridge.config.servers import Slurmrest
from bridge.errors import ConfigError, Unavailable
from bridge.job.faults.servers import of_slurm
from bridge.slurmrest.api import Credential
from bridge.slurmrest.client import SlurmRestClient
from tests.fakes.authority import make_authority
from tests.fakes.httpserver import Reply, ScriptedServer

ME = Credential("ml", "head.sesame.sig")
NODE = {"nodes": [{"name": "n1", "state": ["IDLE"], "reason": ""}]}


@pytest.mark.parametrize(
    "url",
    [
        "https://slurmrestd.example:6820",
        "https://10.0.0.1/rest",
        "http://127.0.0.1:6820",
        "http://127.1.2.3",
        "http://[::1]:6820/",
        "http://localhost:6820",
        "unix:/run/slurmrestd.sock",
        "unix:///run/slurmrestd.sock",
    ],
)
def test_ways_that_a_token_may_take(url: str) -> None:
    assert Slurmrest(url=url).url == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://slurmrestd:6820", "would send Slurm tokens to slurmrestd where the network can read them"),
        ("http://10.0.0.1:6820", "use https://, or unix:/PATH, or http on loopback"),
        ("http://127.0.0.1.example:6820", "would send Slurm tokens to 127.0.0.1.example"),
        ("http://localhost.example", "would send Slurm tokens to localhost.example"),
        ("http://0.0.0.0:6820", "would send Slurm tokens to 0.0.0.0"),
        ("http://[::]:6820", "would send Slurm tokens to ::"),
        ("http://127.0.0.1@evil.example", "has a name or password in it"),
        ("https://ml:sesame@slurmrestd", "has a name or password in it"),
        ("https://slurmrestd:port", "is no address"),
        ("https://[::1", "is no address"),
        ("https://", "must be https://HOST:PORT, unix:/PATH, or http on loopback"),
        ("slurmrestd:6820", "must be https://HOST:PORT"),
        ("ftp://127.0.0.1", "must be https://HOST:PORT"),
        ("unix:", "names no absolute path of a socket"),
        ("unix:run/slurmrestd.sock", "names no absolute path"),
        ("unix://run/slurmrestd.sock", "names no absolute path"),
        ("unix:///", "names no absolute path"),
    ],
)
def test_ways_that_it_may_not_take(url: str, why: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Slurmrest(url=url)
    assert why in str(raised.value.errors()[0]["msg"])
    assert "sesame" not in str(raised.value.errors()[0]["msg"])


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """A server's certificate and its authority; beside them another authority, and ca.pem, which holds that one."""
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        make_authority(tmp_path / name)
    shutil.copy(tmp_path / "other" / "ca.pem", tmp_path / "ca.pem")
    return tmp_path


@pytest.fixture
def server(authority: Path) -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "own" / "server.pem", authority / "own" / "server.key")
    with ScriptedServer(context) as server:
        server.route = lambda _: Reply(NODE)
        yield server


def test_a_new_authority_is_taken_without_a_restart(authority: Path, server: ScriptedServer) -> None:
    rest = SlurmRestClient(Slurmrest(url=server.url, ca_file=authority / "ca.pem"))
    with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED") as raised:
        rest.node(ME, "n1")
    assert of_slurm(raised.value).fault.name == "slurmrestd-certificate"
    assert server.received == [], "no token goes to a server that is not known"
    shutil.copy(authority / "own" / "ca.pem", authority / "ca.pem")
    assert rest.node(ME, "n1").name == "n1"
    rest.close()


def test_a_broken_authority_file_leaves_the_old_one_in_force(authority: Path, server: ScriptedServer) -> None:
    shutil.copy(authority / "own" / "ca.pem", authority / "ca.pem")
    rest = SlurmRestClient(Slurmrest(url=server.url, ca_file=authority / "ca.pem"))
    (authority / "ca.pem").write_text("not yet")
    with capture_logs() as logs:
        assert rest.node(ME, "n1").name == rest.node(ME, "n1").name == "n1"
    assert [line["event"] for line in logs if line["event"].startswith("ca_file")] == ["ca_file_kept"]
    (authority / "ca.pem").unlink()
    assert rest.node(ME, "n1").name == "n1"
    rest.close()


def test_a_bad_authority_file_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ca_file"):
        SlurmRestClient(Slurmrest(url="https://x", ca_file=tmp_path / "missing"))


class _OnSocket(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = b'{"nodes": [{"name": "%s", "state": ["IDLE"]}]}' % self.headers["X-SLURM-USER-TOKEN"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Not on the terminal."""


# httpcore leaves the socket of a failed connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_socket_of_this_node(tmp_path: Path) -> None:
    path = tmp_path / "rest.sock"
    rest = SlurmRestClient(Slurmrest(url=f"unix:{path}"))
    with pytest.raises(Unavailable, match=f"No answer from slurmrestd at unix:{path}: .*No such file"):
        rest.node(ME, "n1")
    with socketserver.ThreadingUnixStreamServer(str(path), _OnSocket) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        assert rest.node(ME, ME.token).states == {"IDLE"}
        rest.close()
        server.shutdown()
        thread.join()
