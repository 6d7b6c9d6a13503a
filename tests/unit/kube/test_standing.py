"""An API server and a node that do not take each other: which state it is, and that it heals by itself."""

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.utils import formatdate
from pathlib import Path

import pytest

from bridge import clock
from bridge.config.servers import KubernetesAccess
from bridge.errors import CLOCK_WRONG, SERVER_EXPIRED, ConfigError, RemoteError
from bridge.job.faults.servers import of_kubernetes
from bridge.kube.client import KubernetesClient
from bridge.kube.credentials import Credentials
from bridge.kube.standing import ServerClock, why_untrusted
from tests.certificates import DAY, Authority, Pair
from tests.fakes.httpserver import Reply, ScriptedServer
from tests.unit.kube.conftest import Connect, kubeconfig
from tests.unit.kube.test_lifetimes import jwt

NODE = {"metadata": {"name": "n1", "uid": "u1"}}
AUTHORITY = Authority()


@contextmanager
def serving(pair: Pair, folder: Path, ahead: float = 0.0) -> Iterator[ScriptedServer]:
    """An API server with this certificate, whose clock is so much ahead of this machine's."""
    file = folder / "server.pem"
    file.write_text(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with ScriptedServer(context) as server:
        server.route = lambda _: Reply(NODE, headers={"Date": formatdate(time.time() + ahead, usegmt=True)})
        yield server


def trusted(folder: Path, authority: Authority = AUTHORITY) -> Path:
    """The file that a kubeconfig names."""
    file = folder / "ca.pem"
    file.write_text(authority.own.certificate)
    return file


def state(client: KubernetesClient) -> str:
    """The row that a question meets, '' where it is answered."""
    try:
        client.node("n1")
    except RemoteError as error:
        found = of_kubernetes(error)
        assert not any(word in found.sentence for word in ("SSL", "_ssl.c", "VERIFY_FAILED")), found.sentence
        return found.fault.name
    return ""


@pytest.mark.parametrize(
    ("pair", "row"),
    [
        (AUTHORITY.issue(begins=-3 * DAY, ends=-DAY), "api-server-expired"),
        (AUTHORITY.issue(begins=DAY, ends=3 * DAY), "api-clock"),
        (Authority().issue(), "api-authority"),
        (AUTHORITY.own, "api-certificate"),
        (AUTHORITY.issue(host="127.0.0.2"), "api-certificate"),
        (AUTHORITY.issue(), ""),
    ],
)
def test_a_certificate_that_is_not_taken_is_one_state(tmp_path: Path, connect: Connect, pair: Pair, row: str) -> None:
    with serving(pair, tmp_path) as server:
        assert state(connect(server.url, ca=trusted(tmp_path), timeout=2)) == row


def test_what_is_mended_is_taken_without_a_restart(tmp_path: Path, connect: Connect) -> None:
    """An authority that was changed at the server first, and here afterwards."""
    new = Authority()
    with serving(new.issue(), tmp_path) as server:
        client = connect(server.url, ca=trusted(tmp_path), timeout=2)
        assert state(client) == "api-authority"
        trusted(tmp_path, new)
        assert state(client) == ""


def test_a_clock_that_was_set_wrong_meanwhile_is_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expired certificate would be one, too; the last answer has told what the API server's clock says."""
    times = {"now": 1000.0, "offset": 500.0}
    monkeypatch.setattr(clock, "now", lambda: times["now"])
    monkeypatch.setattr(clock, "offset", lambda: times["offset"])
    server = ServerClock()
    assert server.ahead() is None
    server.heard(formatdate(1500.0, usegmt=True))
    assert server.ahead() == 0.0
    times |= {"now": 1100.0, "offset": 500.0 + 90_000.0}
    assert server.ahead() == 90_000.0
    late = ssl.SSLCertVerificationError("certificate verify failed")
    late.verify_code = 10
    reason, words = why_untrusted(OSError(late), server.ahead())
    assert reason == CLOCK_WRONG and words.startswith("it is 90,000 s ahead of the API server's, and says ")
    assert why_untrusted(OSError(late), 1.0)[0] == SERVER_EXPIRED
    late.verify_code = 9
    assert why_untrusted(OSError(late), -90_000.0) == (CLOCK_WRONG, words.replace("ahead of", "behind"))


@pytest.mark.parametrize("date", ["", "yesterday", "Thu, 01 Jan 1970 00:00:00", "\x00", "1" * 10_000])
def test_a_date_that_is_none_says_nothing(date: str) -> None:
    server = ServerClock()
    server.heard(date)
    assert server.ahead() is None


def test_the_servers_clock_is_heard_in_each_answer(tmp_path: Path, connect: Connect) -> None:
    with serving(AUTHORITY.issue(), tmp_path, ahead=-7200.0) as server:
        client = connect(server.url, ca=trusted(tmp_path))
        client.node("n1")
        assert client.standing().ahead == pytest.approx(7200.0, abs=30)


def refusing(server: ScriptedServer, ahead: float = 0.0) -> None:
    """To whom it does not know."""
    date = {"Date": formatdate(time.time() + ahead, usegmt=True)}
    body = {"kind": "Status", "status": "Failure", "reason": "Unauthorized", "message": "Unauthorized", "code": 401}
    server.route = lambda _: Reply(body, 401, date)


@pytest.mark.parametrize(
    ("ends", "ahead", "row"),
    [
        (-5.0, 0.0, "api-token-expired"),
        (3600.0, 0.0, "api-credential"),
        (3600.0, 7200.0, "api-token-expired"),  # by the API server's clock, which judges it
        (-3600.0, -7200.0, "api-credential"),
    ],
)
def test_a_token_has_expired_by_the_servers_clock(
    server: ScriptedServer, connect: Connect, ends: float, ahead: float, row: str
) -> None:
    refusing(server, ahead)
    now = time.time()
    token = jwt(iat=now - 9000, exp=now + ends).removeprefix("Bearer ")
    assert state(connect(server.url, token=token)) == row


@pytest.mark.parametrize(("ends", "row"), [(-DAY, "api-client-expired"), (DAY, "api-credential")])
def test_a_client_certificate_has_expired(connect: Connect, tmp_path: Path, ends: timedelta, row: str) -> None:
    pair = AUTHORITY.issue(begins=-3 * DAY, ends=ends, host="")
    for name, text in (("client.pem", pair.certificate), ("client.key", pair.key)):
        (tmp_path / name).write_text(text)
    user = {"client-certificate": str(tmp_path / "client.pem"), "client-key": str(tmp_path / "client.key")}
    with serving(AUTHORITY.issue(), tmp_path) as server:
        refusing(server)
        client = connect(server.url, ca=trusted(tmp_path), **user)
        assert state(client) == row
        assert client.standing().kind == "client certificate"


def test_a_kubeconfig_that_is_not_there_yet_is_waited_for(server: ScriptedServer, tmp_path: Path) -> None:
    server.route = lambda _: Reply(NODE)
    file = tmp_path / "kubeconfig"
    client = KubernetesClient(KubernetesAccess(kubeconfig=file, timeout=2), patient=True)
    with pytest.raises(ConfigError, match="kubeconfig-unusable"):
        client.node("n1")
    assert "No such file" in client.standing().unread
    file.write_text(kubeconfig(server.url, token="t"))
    assert client.node("n1") == NODE
    assert client.standing().unread == ""
    file.write_text("not: [yaml")
    assert client.node("n1") == NODE, "what was read before serves"
    assert "line 1 is not YAML" in client.standing().unread
    client.close()


def test_a_file_that_is_opened_to_the_daemon_is_read(server: ScriptedServer, tmp_path: Path) -> None:
    """Neither its time nor its size changes with its owner or its mode."""
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig(server.url, token="t"))
    credentials = Credentials(file)
    before = credentials.session()
    assert credentials.session() is before
    file.chmod(0o400)
    assert credentials.session() is not before
    credentials.close()
