"""A real HTTP(S) server on 127.0.0.1 that answers what a test scripted, broken answers included."""

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    connection: int  # which TCP connection of this server it came by

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """A whole answer. ``body``: bytes as they are, else as JSON; ``after``: seconds until it comes."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    after: float = 0.0


@dataclass(frozen=True)
class Stream:
    """A chunked answer; then it ends properly, is cut ("cut"), or hangs till the server closes ("hang")."""

    chunks: tuple[bytes, ...]
    then: str = "end"


@dataclass(frozen=True)
class Drop:
    """The connection is closed without a word."""


@dataclass(frozen=True)
class Silence:
    """The request is read, and nothing ever comes: a half-open connection."""


Answer = Reply | Stream | Drop | Silence
Route = Callable[[Received], Answer]


class ScriptedServer:
    """Answers by ``script`` (a queue, in the order of the requests), else by ``route``, else 500."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.script: deque[Answer] = deque()
        self.route: Route | None = None
        self.closing = threading.Event()
        self.opened: list[socket.socket] = []
        self._connections: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def port(self) -> int:
        port: int = self._server.server_address[1]
        return port

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def answers(self, *answers: Answer) -> None:
        self.script.extend(answers)

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        for connection in self.opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join()

    def next_answer(self, handler: BaseHTTPRequestHandler) -> Answer:
        received = self._receive(handler)
        with self._lock:
            self.received.append(received)
            if self.script:
                return self.script.popleft()
        return self.route(received) if self.route else Reply(status=500)

    def _receive(self, handler: BaseHTTPRequestHandler) -> Received:
        parts = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        peer: tuple[str, int] = handler.client_address
        with self._lock:
            connection = self._connections.setdefault(peer, len(self._connections))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return Received(handler.command, parts.path, query, dict(handler.headers), body, connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    owner: ScriptedServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.owner.opened.append(self.connection)

    def log_message(self, format: str, *args: Any) -> None:
        """Not on the terminal."""

    def _serve(self) -> None:
        answer = self.server.owner.next_answer(self)
        if isinstance(answer, Reply):
            self._reply(answer)
        elif isinstance(answer, Stream):
            self._stream(answer)
        else:
            if isinstance(answer, Silence):
                self.server.owner.closing.wait()
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve  # noqa: N815

    def _reply(self, reply: Reply) -> None:
        self.server.owner.closing.wait(reply.after)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        kind = "text/plain" if isinstance(reply.body, bytes) else "application/json"
        self.send_response_only(reply.status)
        own = {"Date": self.date_time_string(), "Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in {**own, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in stream.chunks:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if stream.then == "end":
            self.wfile.write(b"0\r\n\r\n")
            return
        if stream.then == "hang":
            self.server.owner.closing.wait()
        self.close_connection = True
