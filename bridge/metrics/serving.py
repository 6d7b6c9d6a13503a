"""Answering whoever asks for the metrics, on loopback or a UNIX socket.

Everybody on the node may ask, so nobody may cost much: one connection at a time, a few seconds for each, and whoever
asks again within a second is told the same.
"""

import os
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from bridge.config.address import socket_path

SECONDS = 5.0  # for one question and its answer
KEPT = 1.0  # seconds that an answer stays what it is

Render = Callable[[], bytes]


class Kept:
    """The metrics as text, made anew once a second at most."""

    def __init__(self, render: Render, now: Callable[[], float] = time.monotonic) -> None:
        self._render = render
        self._now = now
        self._made: tuple[float, bytes] | None = None

    def __call__(self) -> bytes:
        made = self._made
        if made is None or self._now() >= made[0] + KEPT:
            self._made = made = self._now(), self._render()
        return made[1]


class Answerer(TCPServer):
    """A thread of its own. Raises OSError where the address cannot be had."""

    allow_reuse_address = True
    request_queue_size = 16

    def __init__(self, listen: str, render: Render) -> None:
        self.render = Kept(render)
        self._path = socket_path(listen)
        where: Any = self._path
        if self._path is None:
            parts = urlsplit(f"//{listen}")
            where = (parts.hostname, parts.port)
            self.address_family = socket.AF_INET6 if ":" in (parts.hostname or "") else socket.AF_INET
        else:
            self.address_family = socket.AF_UNIX
            _make_way(Path(self._path))
        super().__init__(where, _Question)
        self._thread = threading.Thread(target=self.serve_forever, name="metrics", daemon=True)

    def server_bind(self) -> None:
        """Everybody may ask at a socket, as everybody may on loopback."""
        self.allow_reuse_address = self._path is None
        super().server_bind()
        if self._path is not None:
            Path(self._path).chmod(0o666)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """No more answers."""
        self.shutdown()
        self._thread.join()
        self.server_close()
        if self._path is not None:
            Path(self._path).unlink(missing_ok=True)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody went away, or was too slow: no news."""


class _Question(BaseHTTPRequestHandler):
    timeout = SECONDS
    server: Answerer

    def setup(self) -> None:
        super().setup()
        # The handler's own time-out is of one read: who sends a letter a second would stay for hours.
        self._end = threading.Timer(SECONDS, _cut, (self.connection,))
        self._end.daemon = True
        self._end.start()

    def finish(self) -> None:
        self._end.cancel()
        super().finish()

    def do_GET(self) -> None:
        body = self.server.render()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE_PLAIN_0_0_4)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Not which Python this is."""
        return "slurm-k8s-bridge"

    def address_string(self) -> str:
        """A UNIX socket's peer has none."""
        return ""

    def log_message(self, format: str, *args: Any) -> None:
        """Each scrape would be a line."""


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _make_way(path: Path) -> None:
    """An earlier daemon's socket goes; anything else stays, and is in the way."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            path.unlink()
