"""Listening on the bridge's sockets: one thread per connection, a bound on how many."""

import os
import selectors
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from bridge.messages.bridged import CONNECTIONS_FULL
from bridge.wire.frames import FRAME_LIMIT, Channel, FrameError
from bridge.wire.peercred import Peer, peer_of

log = structlog.get_logger()

FIRST_FRAME_SECONDS = 10.0  # a peer that has not asked its question within them is closed
_LISTEN_FDS_START = 3  # sd_listen_fds(3)

Handler = Callable[[Channel, Peer], None]


@dataclass(frozen=True)
class Bounds:
    """Of one socket: connections of everybody but root, and of root, who always gets in however many others are there;
    bytes of a frame that a peer may send."""

    others: int
    root: int
    frame: int


HOOKS = Bounds(others=0, root=512, frame=FRAME_LIMIT)
# An `attach` per job that runs here: no node of Kubernetes runs more than some hundred pods.
USERS = Bounds(others=512, root=32, frame=64 * 1024)


class Server:
    """One listening socket. ``handle`` runs in a thread of its own for each connection."""

    def __init__(self, name: str, listener: socket.socket, handle: Handler, bounds: Bounds) -> None:
        self.name = name
        self._listener = listener
        self._handle = handle
        self._bounds = bounds
        self._closing = threading.Event()
        self._open: dict[Channel, Peer] = {}
        self._lock = threading.Lock()
        # Not shutdown() to wake the accept: the socket is systemd's too, and would be dead for the next daemon.
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name=f"accept-{name}", daemon=True)

    def start(self) -> None:
        """Begin to accept."""
        self._thread.start()

    def stop(self) -> None:
        """Accept no more and close what is open; the peers reconnect to the next daemon."""
        self._closing.set()
        self._wake.close()
        self._thread.join()
        self._woken.close()
        self._listener.close()
        with self._lock:
            channels = list(self._open)
        for channel in channels:
            with suppress(OSError):
                channel.sock.shutdown(socket.SHUT_RDWR)

    @property
    def connections(self) -> int:
        """How many are open now."""
        with self._lock:
            return len(self._open)

    def _accept(self) -> None:
        self._listener.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._closing.is_set():
                selector.select()
                self._accept_waiting()

    def _accept_waiting(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            log.error("accept_failed", socket=self.name, error=str(error))
            self._closing.wait(0.2)
            return
        sock.setblocking(True)
        self._admit(sock)

    def _admit(self, sock: socket.socket) -> None:
        channel = Channel(sock, self._bounds.frame)
        try:
            peer = peer_of(sock)
        except OSError as error:
            log.error("connection_refused", socket=self.name, cause=str(error))
            channel.close()
            return
        if not self._has_room(peer):
            log.warning("connection_refused", socket=self.name, uid=peer.uid, cause="too many connections")
            _send_away(channel, CONNECTIONS_FULL.sentence())
            return
        with self._lock:
            self._open[channel] = peer
        try:
            threading.Thread(target=self._serve, args=(channel, peer), name=f"serve-{self.name}", daemon=True).start()
        except RuntimeError as error:  # no more threads: this one is turned away, the next may find room
            log.error("connection_refused", socket=self.name, cause=str(error))
            self._end(channel)

    def _has_room(self, peer: Peer) -> bool:
        """Nobody has more places than are left for all others, so that some are, however many there are who take what
        they get. Only the accepting thread adds: what has room now has it until it is in."""
        with self._lock:
            uids = [other.uid for other in self._open.values()]
        mine, root = uids.count(peer.uid), uids.count(0)
        if peer.uid == 0:
            return root < self._bounds.root
        return mine < self._bounds.others - (len(uids) - root)

    def _serve(self, channel: Channel, peer: Peer) -> None:
        try:
            channel.hurry(FIRST_FRAME_SECONDS)
            self._handle(channel, peer)
        except (OSError, FrameError) as error:
            log.info("connection_ended", socket=self.name, cause=str(error) or type(error).__name__)
        finally:
            self._end(channel)

    def _end(self, channel: Channel) -> None:
        with self._lock:
            self._open.pop(channel, None)
        channel.close()


def _send_away(channel: Channel, why: str) -> None:
    """A word into an empty buffer, which never waits for the peer."""
    channel.sock.setblocking(False)
    with suppress(OSError):
        channel.send({"kind": "busy", "sentence": why})
    channel.close()


def listener(name: str, path: Path, mode: int) -> socket.socket:
    """The socket that systemd passed under this name (LISTEN_FDNAMES), else a new one at this path."""
    passed = _passed(name)
    if passed is not None:
        return passed
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.bind(str(path))
    path.chmod(mode)
    sock.listen(256)
    return sock


def _passed(name: str) -> socket.socket | None:
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    names = os.environ.get("LISTEN_FDNAMES", "").split(":")
    if name not in names:
        return None
    return socket.socket(fileno=_LISTEN_FDS_START + names.index(name))
