"""A node's detour to the API server: a small TLS proxy that delays, refuses and holds requests, as a file says.

    detour.py CERTIFICATE RULE [CLIENT]

CERTIFICATE holds the proxy's own certificate and key, CLIENT those by which it speaks to the API server for a client
that has no token. RULE is a JSON file, looked at for every request:
  only    what a request concerned begins with, such as "PATCH /api/v1"; all requests without it
  hold    seconds before the request goes on
  delay   seconds before its answer comes, whatever the API server has done by then
  status  the answer instead, with retry_after for its Retry-After
  ahead   seconds by which the answer's date is another
CERTIFICATE may be another at any time.
Requests concerned are written to RULE.met. A new rule lets go what is held, and cuts what was begun under another one.
"""

from __future__ import annotations

import json
import re
import select
import socket
import socketserver
import ssl
import sys
import time
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path

PORT = 16443
UPSTREAM = ("kube-apiserver", 6443)
AUTHORITY = "/etc/kubernetes/ca.crt"
POLL = 0.05
CHUNK = 65536
DATE = re.compile(rb"^Date: (.+?)\r$", re.MULTILINE)


class Detour(socketserver.ThreadingTCPServer):
    """Listens on loopback."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, certificate: str, rule: str, client: str = "") -> None:
        self.rule_file = Path(rule)
        self.certificate = certificate
        self.outward = ssl.create_default_context(cafile=AUTHORITY)
        if client:
            self.outward.load_cert_chain(client)
        super().__init__(("127.0.0.1", PORT), Conversation)

    def inward(self) -> ssl.SSLContext:
        """With the certificate of now."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        return context

    def rule(self) -> dict[str, object]:
        """What is in force now."""
        rule: dict[str, object] = json.loads(self.rule_file.read_text(encoding="utf-8"))
        return rule

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away, or an API server that does, is no news."""


class Conversation(socketserver.BaseRequestHandler):
    """One connection, one request."""

    server: Detour

    def handle(self) -> None:
        """Bring the request on its way, or not."""
        self.client = self.server.inward().wrap_socket(self.request, server_side=True)
        with self.client:
            head, _, body = self._head().partition(b"\r\n\r\n")
            if not head:
                return
            lines = head.split(b"\r\n")
            body += self._rest(lines, len(body))
            self.rule = self.server.rule()
            concerned = lines[0].decode().startswith(str(self.rule.get("only", "")))
            self.treatment = self.rule if concerned else {}
            if concerned:
                self._note(lines[0])
            self._wait("hold")
            self.rule = self.server.rule()  # what was held goes on under the rule that let it go
            if "status" in self.treatment:
                self._refuse()
            else:
                self._forward(b"\r\n".join([lines[0], b"Connection: close", *lines[1:]]) + b"\r\n\r\n" + body)

    def _head(self) -> bytes:
        text = b""
        while b"\r\n\r\n" not in text and (more := self.client.recv(CHUNK)):
            text += more
        return text

    def _rest(self, lines: list[bytes], known: int) -> bytes:
        fields = dict(line.lower().split(b":", 1) for line in lines[1:])
        missing, body = int(fields.get(b"content-length", b"0")) - known, b""
        while len(body) < missing and (more := self.client.recv(CHUNK)):
            body += more
        return body

    def _note(self, line: bytes) -> None:
        with self.server.rule_file.with_suffix(".met").open("ab") as met:
            met.write(line + b"\n")

    def _wait(self, key: str) -> None:
        end = time.monotonic() + float(str(self.treatment.get(key, 0)))
        while time.monotonic() < end and self._is_in_force():
            time.sleep(POLL)

    def _is_in_force(self) -> bool:
        return self.server.rule() == self.rule

    def _refuse(self) -> None:
        again = self.treatment.get("retry_after")
        fields = ["Content-Length: 0", "Connection: close", *([f"Retry-After: {again}"] if again else [])]
        self.client.sendall("\r\n".join([f"HTTP/1.1 {self.treatment['status']} Refused", *fields, "", ""]).encode())

    def _forward(self, request: bytes) -> None:
        with (
            socket.create_connection(UPSTREAM) as plain,
            self.server.outward.wrap_socket(plain, server_hostname=UPSTREAM[0]) as upstream,
        ):
            upstream.sendall(request)
            self._wait("delay")
            while self._is_in_force():
                if upstream.pending() or select.select([upstream], [], [], POLL)[0]:
                    answer = upstream.recv(CHUNK)
                    if not answer:
                        return
                    self.client.sendall(self._dated(answer))

    def _dated(self, answer: bytes) -> bytes:
        """The head of an answer, if this is one, with another date."""
        found = DATE.search(answer) if "ahead" in self.treatment and answer.startswith(b"HTTP/") else None
        if found is None:
            return answer
        told = parsedate_to_datetime(found[1].decode()) + timedelta(seconds=float(str(self.treatment["ahead"])))
        return answer[: found.start(1)] + format_datetime(told, usegmt=True).encode() + answer[found.end(1) :]


def main() -> None:
    """Serve for ever."""
    with Detour(*sys.argv[1:]) as detour:
        detour.serve_forever()


if __name__ == "__main__":
    main()
