"""The words to systemd."""

import socket
import threading
import time
from pathlib import Path

import pytest

from bridge import sdnotify


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """What systemd hears; it wants a sign of life every 40 ms."""
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(str(tmp_path / "notify"))
    heard.settimeout(5)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "40000")
    return heard


def test_an_engine_that_does_not_turn_gives_no_sign_of_life(systemd: socket.socket) -> None:
    turning, stopping, looked = threading.Event(), threading.Event(), threading.Event()

    def is_well() -> bool:
        looked.set()
        return turning.is_set()

    feeder = threading.Thread(target=sdnotify.feed_watchdog, args=(is_well, stopping))
    feeder.start()
    assert looked.wait(5)
    time.sleep(0.1)
    sdnotify.notify("READY=1")
    assert systemd.recv(100) == b"READY=1", "nothing came before"
    turning.set()
    assert [systemd.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
    stopping.set()
    feeder.join(5)
    assert not feeder.is_alive()
    systemd.close()


def test_where_systemd_wants_none_nobody_looks(systemd: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHDOG_USEC")
    sdnotify.feed_watchdog(lambda: pytest.fail("looked"), threading.Event())
    systemd.close()
