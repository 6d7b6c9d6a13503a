"""The socket server: who is there, how many, and how it ends."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

from bridge.wire.frames import Channel
from bridge.wire.peercred import Peer
from bridge.wire.server import Server, listener


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
    server = Server("test", listener("test", path, 0o600), echo, limit=4)
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
    server = Server("test", listener("test", path, 0o600), hold, limit=1)
    server.start()
    first = connect(path)
    assert entered.wait(5)
    second = connect(path)
    assert second.receive() is None
    assert server.connections == 1
    leave.set()
    assert first.receive() is None
    first.close()
    second.close()
    server.stop()


def test_garbage_ends_its_own_connection_only(tmp_path: Path) -> None:
    path = tmp_path / "s"
    server = Server("test", listener("test", path, 0o600), echo, limit=4)
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
    server = Server("test", listener("test", path, 0o600), echo, limit=4)
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
