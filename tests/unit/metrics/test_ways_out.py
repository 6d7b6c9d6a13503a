"""How metrics leave the daemon: a socket that nobody can occupy, and a file that is always whole."""

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
import structlog

from bridge.config.metrics import Metrics
from bridge.kube.standing import Standing
from bridge.metrics import serving
from bridge.metrics.office import Office
from bridge.metrics.reading import View
from bridge.metrics.serving import Answerer, Kept
from bridge.metrics.textfile import Textfile
from bridge.wellknown import METRIC, METRICS_FILE
from tests.unit.engine.world import World


class Local(HTTPConnection):
    """HTTP over a UNIX socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=5)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(str(self._path))


def got(connection: HTTPConnection) -> tuple[int, str]:
    """What it answers."""
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    told = answer.status, answer.read().decode()
    connection.close()
    return told


@pytest.fixture
def free() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.fixture
def answerer(free: int) -> Iterator[Answerer]:
    answerer = Answerer(f"127.0.0.1:{free}", lambda: b"up 1\n")
    answerer.start()
    yield answerer
    answerer.stop()


@pytest.mark.usefixtures("answerer")
def test_on_loopback(free: int) -> None:
    assert got(HTTPConnection("127.0.0.1", free)) == (200, "up 1\n")


@pytest.mark.usefixtures("answerer")
def test_nobody_else_is_listened_to(free: int) -> None:
    connection = HTTPConnection("127.0.0.1", free)
    connection.request("POST", "/metrics", b"word")
    assert connection.getresponse().status == 501
    connection.close()


def test_on_a_socket_that_everybody_may_ask(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sock"
    for _ in range(2):  # the second time over what a daemon has left that was killed
        answerer = Answerer(f"unix:{path}", lambda: b"up 1\n")
        answerer.start()
        assert got(Local(path)) == (200, "up 1\n")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
        stale = tmp_path / "stale"
        os.link(path, stale)
        answerer.stop()
        assert not path.exists()
        stale.rename(path)


def test_what_is_no_socket_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "metrics.sock"
    path.write_text("precious")
    with pytest.raises(OSError):
        Answerer(f"unix:{path}", lambda: b"")
    assert path.read_text() == "precious"


@pytest.mark.usefixtures("answerer")
def test_who_says_nothing_is_sent_away(free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.3)
    slow = socket.create_connection(("127.0.0.1", free))
    chatter = threading.Thread(target=_talk_slowly, args=(slow,))
    chatter.start()
    began = time.monotonic()
    assert got(HTTPConnection("127.0.0.1", free))[0] == 200
    assert time.monotonic() - began < 4.0
    chatter.join()


def _talk_slowly(sock: socket.socket) -> None:
    """A letter now and then, so that no single read takes long."""
    try:
        for letter in b"GET /metrics HTTP/1.1\r\n" * 10:
            sock.sendall(bytes([letter]))
            time.sleep(0.05)
    except OSError:
        sock.close()


def test_whoever_asks_again_within_a_second_is_told_the_same() -> None:
    now, made = 0.0, 0

    def render() -> bytes:
        nonlocal made
        made += 1
        return str(made).encode()

    kept = Kept(render, lambda: now)
    assert [kept(), kept(), kept()] == [b"1"] * 3
    now = serving.KEPT
    assert kept() == b"2"


def test_the_file_is_whole_and_others_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert Textfile(tmp_path, 30.0, lambda: b"up 1\n").write()
    finally:
        os.umask(before)
    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (METRICS_FILE, b"up 1\n", 0o644)


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    """The directory may be somebody else's."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / f".{METRICS_FILE}.new").symlink_to(precious)
    (tmp_path / METRICS_FILE).symlink_to(precious)
    assert Textfile(tmp_path, 30.0, lambda: b"up 1\n").write()
    assert precious.read_text() == "mine"


def test_half_a_file_is_never_seen(tmp_path: Path) -> None:
    def render() -> bytes:
        assert (tmp_path / METRICS_FILE).read_bytes() == b"old\n"
        return b"new\n"

    (tmp_path / METRICS_FILE).write_bytes(b"old\n")
    assert Textfile(tmp_path, 30.0, render).write()
    assert (tmp_path / METRICS_FILE).read_bytes() == b"new\n"


def test_a_directory_that_is_not_there_is_said_once(tmp_path: Path) -> None:
    textfile = Textfile(tmp_path / "missing", 30.0, lambda: b"up 1\n")
    with structlog.testing.capture_logs() as lines:
        assert not textfile.write()
        assert not textfile.write()
    assert [line["event"] for line in lines] == ["metrics_unwritten"]
    (tmp_path / "missing").mkdir()
    assert textfile.write()


def test_it_is_written_again_and_goes_with_the_daemon(tmp_path: Path) -> None:
    told = iter(range(1000))
    textfile = Textfile(tmp_path, 0.02, lambda: str(next(told)).encode())
    textfile.start()
    file = tmp_path / METRICS_FILE
    end = time.monotonic() + 10
    while not file.exists() or int(file.read_bytes()) < 3:
        assert time.monotonic() < end
        time.sleep(0.01)
    textfile.stop()
    assert not list(tmp_path.iterdir())


def test_an_address_that_is_taken_stops_nothing(world: World, free: int) -> None:
    node = world.node()
    office = Office(Metrics(listen=f"127.0.0.1:{free}"))
    view = View(node.config, node.engine, lambda: node.reconciler.report, Standing)
    with socket.create_server(("127.0.0.1", free)), structlog.testing.capture_logs() as lines:
        office.start(view)
    office.stop()
    (line,) = lines
    assert line["event"] == "metrics_unheard" and "[metrics-unheard]" in line["error"]


def test_the_office_tells_all_of_it_both_ways(world: World, tmp_path: Path, free: int) -> None:
    node, job = world.node(), world.job()
    office = Office(Metrics(listen=f"127.0.0.1:{free}", textfile_directory=tmp_path))
    node.watchers.append(office.tally.changed)
    office.start(View(node.config, node.engine, lambda: node.reconciler.report, Standing))
    world.running(node, job)
    _, text = got(HTTPConnection("127.0.0.1", free))
    assert f'{METRIC}_runs_total{{verdict="started"}} 1.0' in text
    assert f"{METRIC}_process_resident_memory_bytes " in text
    assert f"{METRIC}_journal_bytes " in text
    assert "_created" not in text
    assert "python_info" not in text, "a registry of our own"
    assert f"{METRIC}_build_info" in (tmp_path / METRICS_FILE).read_text()
    office.stop()
    assert not (tmp_path / METRICS_FILE).exists()
