"""The socket server: who is there, how many, and how it ends."""

import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.wire import server as servers
from bridge.wire.frames import Channel
from bridge.wire.peercred import Peer, has_left
from bridge.wire.server import HOOKS, USERS, Bounds, Server, listener

BOUNDS = Bounds(others=8, root=4, frame=1024)


def connect(path: Path) -> Channel:
    """A client."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(5)
    sock.connect(str(path))
    return Channel(sock)


def echo(channel: Channel, peer: Peer) -> None:
    """Answers with the peer's uid, once."""
    message = channel.receive()
    channel.send({"said": message, "uid": peer.uid, "pid": peer.pid})


def test_the_peer_is_who_the_kernel_says(tmp_path: Path) -> None:
    path = tmp_path / "s"
    server = Server("test", listener("test", path, 0o600), echo, BOUNDS)
    server.start()
    client = connect(path)
    client.send({"uid": 12345})
    assert client.receive() == {"said": {"uid": 12345}, "uid": os.getuid(), "pid": os.getpid()}
    client.close()
    server.stop()


def test_connections_over_the_limit_are_closed_at_once(tmp_path: Path) -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold(_channel: Channel, _peer: Peer) -> None:
        entered.set()
        leave.wait(5)

    path = tmp_path / "s"
    server = Server("test", listener("test", path, 0o600), hold, replace(BOUNDS, root=1, others=2))
    server.start()
    first = connect(path)
    assert entered.wait(5)
    second = connect(path)
    busy = second.receive()
    assert busy is not None and busy["kind"] == "busy"
    assert second.receive() is None
    assert server.connections == 1
    leave.set()
    assert first.receive() is None
    first.close()
    second.close()
    server.stop()


class Crowd:
    """Clients of a server whose handler keeps each of them until it goes; who they are, the test says."""

    def __init__(self, path: Path, bounds: Bounds, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self._uid = 0
        self._clients: list[Channel] = []
        monkeypatch.setattr(servers, "peer_of", lambda _sock: Peer(1, self._uid, 1))
        self.server = Server("test", listener("test", path, 0o600), self._keep, bounds)
        self.server.start()

    @staticmethod
    def _keep(channel: Channel, peer: Peer) -> None:
        channel.send({"kind": "welcome", "uid": peer.uid})
        channel.receive()

    def comes(self, uid: int) -> str:
        """What this user is told at first."""
        self._uid = uid
        client = connect(self._path)
        self._clients.append(client)
        said = client.receive()
        assert said is not None
        return str(said["kind"])

    def leaves(self) -> None:
        """The first who came."""
        before = self.server.connections
        self._clients.pop(0).close()
        while self.server.connections == before:
            threading.Event().wait(0.005)

    def ends(self) -> None:
        self.server.stop()
        for client in self._clients:
            client.close()


def test_no_user_takes_the_place_of_others_and_nobody_that_of_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd(tmp_path / "s", Bounds(others=16, root=2, frame=1024), monkeypatch)
    for uid, places in ((1001, 8), (1002, 4), (1003, 2), (1004, 1)):
        assert [crowd.comes(uid) for _ in range(places + 1)] == ["welcome"] * places + ["busy"]
    assert [crowd.comes(0) for _ in range(3)] == ["welcome", "welcome", "busy"]
    crowd.leaves()
    assert [crowd.comes(1001), crowd.comes(1005), crowd.comes(1005)] == ["busy", "welcome", "busy"]
    crowd.ends()


def test_the_sockets_have_room_for_what_a_node_can_run_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Crowd(tmp_path / "h", HOOKS, monkeypatch)
    assert {hooks.comes(0) for _ in range(512)} == {"welcome"}
    assert hooks.comes(0) == "busy"
    hooks.ends()
    users = Crowd(tmp_path / "u", USERS, monkeypatch)
    assert {users.comes(1001) for _ in range(256)} == {"welcome"}
    assert (users.comes(1001), users.comes(1002), users.comes(0)) == ("busy", "welcome", "welcome")
    users.ends()


def test_a_frame_over_the_sockets_limit_ends_its_connection(tmp_path: Path) -> None:
    server = Server("test", listener("test", tmp_path / "s", 0o600), echo, BOUNDS)
    server.start()
    client = connect(tmp_path / "s")
    client.send({"text": "x" * 1024})
    with suppress(ConnectionResetError):  # it need not have read the rest
        assert client.receive() is None
    client.close()
    server.stop()


def test_a_peer_that_says_more_than_it_is_asked_is_held_back(tmp_path: Path) -> None:
    """What nobody reads stays in the kernel's buffer, and then the peer waits."""
    heard, leave = threading.Event(), threading.Event()

    def hear_one(channel: Channel, _peer: Peer) -> None:
        channel.receive()
        heard.set()
        leave.wait(5)

    server = Server("test", listener("test", tmp_path / "s", 0o600), hear_one, USERS)
    server.start()
    client = connect(tmp_path / "s")
    client.send({"first": 1})
    assert heard.wait(5)
    client.sock.setblocking(False)
    sent = 0
    with pytest.raises(BlockingIOError):
        while sent < 64 * 1024 * 1024:
            sent += client.sock.send(b"x" * 4096)
    assert sent < 8 * 1024 * 1024
    leave.set()
    client.close()
    server.stop()


@pytest.mark.parametrize(("first", "drop"), [(b"", b""), (b"9", b""), (b"900", b""), (b"900\n", b" ")])
def test_a_peer_that_does_not_come_to_its_question_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes, drop: bytes
) -> None:
    monkeypatch.setattr(servers, "FIRST_FRAME_SECONDS", 0.3)
    server = Server("test", listener("test", tmp_path / "s", 0o600), echo, BOUNDS)
    server.start()
    client = connect(tmp_path / "s")
    client.sock.settimeout(None)
    client.sock.sendall(first)
    began = time.monotonic()
    with suppress(ConnectionError):
        while not has_left(client.sock):
            assert time.monotonic() - began < 5
            client.sock.sendall(drop)
            time.sleep(0.02)
    client.close()
    server.stop()


def test_garbage_ends_its_own_connection_only(tmp_path: Path) -> None:
    path = tmp_path / "s"
    server = Server("test", listener("test", path, 0o600), echo, BOUNDS)
    server.start()
    rude = connect(path)
    rude.sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
    assert rude.receive() is None
    polite = connect(path)
    polite.send({})
    assert polite.receive() is not None
    rude.close()
    polite.close()
    server.stop()


def test_stop_closes_what_is_open(tmp_path: Path) -> None:
    path = tmp_path / "s"
    server = Server("test", listener("test", path, 0o600), echo, BOUNDS)
    server.start()
    client = connect(path)
    client.send({})
    assert client.receive() is not None
    waiting = connect(path)
    server.stop()
    with suppress(ConnectionResetError):  # it may not even have been accepted
        assert waiting.receive() is None
    client.close()
    waiting.close()
