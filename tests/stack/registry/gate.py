"""A reverse proxy in front of a container registry that misbehaves on demand.

Clients reach the registry through port 5000. On port 5002 a test says what they get:

    PUT    /mode      {"mode": "503", "match": "/skb/small/", "delay": 2}; "ok" ends it
    GET    /mode      the rule in force
    GET    /requests  what was asked, oldest first, the last 1,000
    DELETE /requests  forget them
    GET    /healthy   200 if the registry itself answers, whatever the mode

Modes: ok, 401, 404, 500, 503 (answered as a registry does), slow ("delay" seconds before the answer,
"bytes_per_second" of its body) and hang (no answer until another rule comes). "match" is a regular
expression searched in the path, "client" the one address that is concerned: an image that fails
on a single node is another fault than one that fails everywhere.

Images below faulty/ have a fault each, which no rule has to switch on (`faulty.py`).
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase

from . import faulty

CHUNK = 256 * 1024
UPSTREAM_TIMEOUT = 300.0
POLL = 0.2

# Headers that belong to one connection and not to the message (RFC 9110, 7.6.1).
HOP_BY_HOP = frozenset(
    (
        "connection",
        "expect",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)

# What a registry says, by status: the error code and its message.
REFUSALS = {
    401: ("UNAUTHORIZED", "authentication required"),
    429: ("TOOMANYREQUESTS", "pull rate limit exceeded"),
    500: ("UNKNOWN", "unknown error"),
    502: ("UNAVAILABLE", "the registry behind the gate does not answer"),
    503: ("UNAVAILABLE", "service unavailable"),
}
MODES = ("ok", "401", "404", "500", "503", "slow", "hang")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What happens to which requests."""

    mode: str = "ok"
    match: str = ""
    client: str = ""
    delay: float = 0.0
    bytes_per_second: float = 0.0

    @classmethod
    def parse(cls, body: bytes) -> Rule:
        """Read a rule; anything that is not one is a ValueError with the reason."""
        given = json.loads(body)
        if not isinstance(given, dict):
            raise ValueError("a rule is a JSON object")
        if unknown := given.keys() - cls.__dataclass_fields__.keys():
            raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
        if given.get("mode") not in MODES:
            raise ValueError(f"mode is one of {', '.join(MODES)}")
        for name in ("match", "client"):
            if not isinstance(given.get(name, ""), str):
                raise ValueError(f"{name} is a string")
        for name in ("delay", "bytes_per_second"):
            value = given.get(name, 0)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ValueError(f"{name} is a number, not below 0")
        try:
            re.compile(given.get("match", ""))
        except re.error as error:
            raise ValueError(f"match: {error}") from error
        return cls(**given)

    def concerns(self, client: str, path: str) -> bool:
        """Tell whether a request falls under this rule."""
        if self.mode == "ok" or (self.client and self.client != client):
            return False
        # A registry that lacks an image still is a registry.
        if self.mode == "404" and path == "/v2/":
            return False
        return re.search(self.match, path) is not None


class Gate:
    """The rule in force and the memory of what was asked; shared by all threads."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self.upstream = upstream
        self._changed = threading.Condition()
        self._rule = Rule()
        self._requests: deque[dict[str, object]] = deque(maxlen=1000)
        self._seen = 0

    @property
    def rule(self) -> Rule:
        """The rule in force."""
        with self._changed:
            return self._rule

    def set_rule(self, rule: Rule) -> None:
        """Put a rule in force and wake whoever hangs."""
        with self._changed:
            self._rule = rule
            self._changed.notify_all()

    def wait_for_other_rule(self, rule: Rule, seconds: float) -> None:
        """Wait until another rule than this one is in force, but not longer than this."""
        with self._changed:
            self._changed.wait_for(lambda: self._rule is not rule, seconds)

    def remember(self, client: str, method: str, path: str) -> dict[str, object]:
        """Note a request; its status is filled in when it is known."""
        with self._changed:
            self._seen += 1
            entry: dict[str, object] = {
                "number": self._seen,
                "time": time.time(),
                "client": client,
                "method": method,
                "path": path,
                "status": None,
            }
            self._requests.append(entry)
            return entry

    def requests(self) -> list[dict[str, object]]:
        """Return what was asked, oldest first."""
        with self._changed:
            return [dict(entry) for entry in self._requests]

    def forget(self) -> None:
        """Forget what was asked; the numbers go on."""
        with self._changed:
            self._requests.clear()

    def connect(self, timeout: float = UPSTREAM_TIMEOUT) -> http.client.HTTPConnection:
        """Return a connection to the registry, which is opened by its first use."""
        return http.client.HTTPConnection(*self.upstream, timeout=timeout)

    def healthy(self) -> bool:
        """Tell whether the registry itself answers."""
        connection = self.connect(timeout=3)
        try:
            connection.request("GET", "/v2/")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class Handler(BaseHTTPRequestHandler):
    """What both ports have in common."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    gate: Gate

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing by itself: GET /requests says more."""

    def answer(self, status: int, document: object, headers: dict[str, str] | None = None) -> None:
        """Send a JSON document."""
        body = json.dumps(document).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class ControlHandler(Handler):
    """The control port."""

    def do_GET(self) -> None:
        """Show the rule, the requests, or the health."""
        if self.path == "/mode":
            self.answer(200, asdict(self.gate.rule))
        elif self.path == "/requests":
            self.answer(200, self.gate.requests())
        elif self.path == "/healthy":
            healthy = self.gate.healthy()
            self.answer(200 if healthy else 503, {"healthy": healthy})
        else:
            self.answer(404, {"error": f"nothing at {self.path}"})

    def do_PUT(self) -> None:
        """Put a rule in force."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path != "/mode":
            self.answer(404, {"error": f"nothing at {self.path}"})
            return
        try:
            rule = Rule.parse(body)
        except ValueError as error:
            self.answer(400, {"error": str(error)})
            return
        self.gate.set_rule(rule)
        print(f"gate: {json.dumps(asdict(rule))}", file=sys.stderr, flush=True)
        self.answer(200, asdict(rule))

    def do_DELETE(self) -> None:
        """Forget the requests."""
        if self.path != "/requests":
            self.answer(404, {"error": f"nothing at {self.path}"})
            return
        self.gate.forget()
        self.answer(200, [])


class ImageHandler(Handler):
    """The port that image clients use."""

    # None while there is no request yet, only something that can't be read as one.
    entry: dict[str, object] | None = None

    def handle_one_request(self) -> None:
        """A client that leaves in the middle is no news."""
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do_GET(self) -> None:
        """Apply the rule, then forward or refuse; every method goes this way."""
        path = self.path.partition("?")[0]
        client = self.client_address[0]
        self.entry = self.gate.remember(client, self.command, self.path)
        while (rule := self.gate.rule).concerns(client, path) and rule.mode == "hang":
            self.gate.wait_for_other_rule(rule, POLL)
            if self._client_left():
                self.close_connection = True
                return
        if path.startswith(faulty.REPOSITORY):
            self._give_faulty(path)
            return
        if not rule.concerns(client, path):
            self._forward(0)
            return
        time.sleep(rule.delay)
        if rule.mode == "slow":
            self._forward(rule.bytes_per_second)
        else:
            self._refuse(int(rule.mode), path)

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 (the base class's names)

    def send_response(self, code: int, message: str | None = None) -> None:
        """Note the status on the way."""
        if self.entry is not None:
            self.entry["status"] = code
        super().send_response(code, message)

    def _client_left(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    def _give_faulty(self, path: str) -> None:
        """Serve an image of ours that is not what it should be."""
        content = faulty.content(path)
        if content is None:
            self._refuse(http.client.TOO_MANY_REQUESTS, path)
            return
        kind, data = content
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if "/manifests/" in path:
            self.send_header("Docker-Content-Digest", faulty.digest(data))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _refuse(self, status: int, path: str) -> None:
        """Say no in the words of a registry."""
        # The body of the request, if any, stays unread: this connection can't be used again.
        self.close_connection = True
        headers = {"Docker-Distribution-Api-Version": "registry/2.0", "Connection": "close"}
        if status == http.client.UNAUTHORIZED:
            # As a registry with a password file asks: no token server has to be there.
            headers["WWW-Authenticate"] = 'Basic realm="Registry Realm"'
        if status != http.client.NOT_FOUND:
            code, message = REFUSALS[status]
        elif "/manifests/" in path:
            code, message = "MANIFEST_UNKNOWN", "manifest unknown"
        elif "/blobs/" in path:
            code, message = "BLOB_UNKNOWN", "blob unknown to registry"
        else:
            code, message = "NAME_UNKNOWN", "repository name not known to registry"
        self.answer(status, {"errors": [{"code": code, "message": message, "detail": None}]}, headers)

    def _forward(self, bytes_per_second: float) -> None:
        connection = self.gate.connect()
        try:
            try:
                response = self._ask(connection)
            except (OSError, http.client.HTTPException):
                self._refuse(http.client.BAD_GATEWAY, self.path)
                return
            self._give_back(response, bytes_per_second)
        finally:
            connection.close()

    def _ask(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP_BY_HOP:
                connection.putheader(name, value)
        # Docker pushes layers whose size it does not know yet.
        chunked = "chunked" in self.headers.get("Transfer-Encoding", "").lower()
        if chunked:
            connection.putheader("Transfer-Encoding", "chunked")
            body = read_chunked(self.rfile)
        else:
            body = read_exactly(self.rfile, int(self.headers.get("Content-Length", "0")))
        connection.endheaders(body, encode_chunked=chunked)
        return connection.getresponse()

    def _give_back(self, response: http.client.HTTPResponse, bytes_per_second: float) -> None:
        self.send_response(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP | {"date", "server"}:
                self.send_header(name, value)
        bodiless = self.command == "HEAD" or response.status in (204, 304)
        if not bodiless and response.getheader("Content-Length") is None:
            # Its end is the end of the connection.
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        # A slow body comes in small steps, ten a second, not in one late lump.
        size = max(1, min(CHUNK, int(bytes_per_second / 10))) if bytes_per_second else CHUNK
        while not bodiless and (data := response.read(size)):
            self.wfile.write(data)
            if bytes_per_second:
                time.sleep(len(data) / bytes_per_second)


def read_exactly(stream: BufferedIOBase, length: int) -> Iterator[bytes]:
    """Yield so many bytes; an earlier end is a lost connection."""
    while length > 0:
        data = stream.read(min(CHUNK, length))
        if not data:
            raise ConnectionResetError("the client left in the middle of its body")
        length -= len(data)
        yield data


def read_chunked(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the body of a chunked message (RFC 9112, 7.1)."""
    while True:
        line = stream.readline(1024)
        if not line:
            raise ConnectionResetError("the client left in the middle of its body")
        length = int(line.partition(b";")[0], 16)
        yield from read_exactly(stream, length)
        if length == 0:
            break
        stream.readline(1024)
    while stream.readline(65536).strip():  # trailers
        pass


class Server(ThreadingHTTPServer):
    """A server whose threads never keep the process alive."""

    daemon_threads = True
    request_queue_size = 128


def serve(address: tuple[str, int], handler: type[Handler], gate: Gate) -> Server:
    """Serve one port in the background."""
    server = Server(address, type(handler.__name__, (handler,), {"gate": gate}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> int:
    """Run the gate and, where one is given, the registry behind it as a child."""
    parser = argparse.ArgumentParser(description="A registry's gate that misbehaves on demand.")
    parser.add_argument("--listen", type=address, default="0.0.0.0:5000")
    parser.add_argument("--control", type=address, default="0.0.0.0:5002")
    parser.add_argument("--upstream", type=address, default="127.0.0.1:5001")
    parser.add_argument("--check", action="store_true", help="only tell whether the registry answers")
    parser.add_argument("registry", nargs="*", help="command that serves the registry")
    options = parser.parse_args()

    gate = Gate(options.upstream)
    if options.check:
        return 0 if gate.healthy() else 1
    serve(options.listen, ImageHandler, gate)
    serve(options.control, ControlHandler, gate)
    # The first process of a container ignores a signal that it does not ask for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if not options.registry:
        signal.pause()
    with subprocess.Popen(options.registry) as registry:
        try:
            return registry.wait()
        finally:
            registry.terminate()


if __name__ == "__main__":
    sys.exit(main())
