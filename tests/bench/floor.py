"""The floor: a resident client that creates, watches, opens the gates, and does nothing else.

It speaks HTTP by itself, as each node by that node's credential, so that the policies judge it as they judge a daemon.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from queue import SimpleQueue
from typing import Any
from urllib.parse import quote, urlsplit

from bridge.job.gate import opening
from bridge.job.pods import pod_facts
from tests.integration import callers
from tests.integration.stack import Stack

_TIMEOUT = 900  # seconds without a word: the garbage collector may stand still for minutes behind a thousand pods
_WATCHES = 20  # of one run at most


class Floor:
    """Of one namespace. `tokens` are the nodes', the first one that of rank 0."""

    def __init__(self, stack: Stack, tokens: Mapping[str, str]) -> None:
        self._pods, self._workloads = callers.pods(stack), callers.workloads(stack)
        self._server = urlsplit(str(stack.description["apiserver"]))
        self._trust = callers.trust(stack)
        self._tokens = tokens
        self._first = next(iter(tokens.values()))
        self._connection = self._connect()
        self.bytes = 0
        """Of all requests, answers and events so far, without their heads."""

    def begin(self, workload: dict[str, Any], nodes: tuple[str, ...]) -> float:
        """Seconds from the create to the last pod that is Ready."""
        self._warm()
        opened: set[str] = set()
        ready: set[str] = set()
        with self._watching(workload["metadata"]["name"]) as events:
            began = time.monotonic()
            self._ask("POST", self._workloads + "?fieldValidation=Strict", self._first, workload)
            for event in events:
                facts = pod_facts(event["object"])
                if facts is None:
                    continue
                if facts.gate is not None and facts.uid not in opened:
                    opened.add(facts.uid)
                    node = nodes[facts.rank]
                    patch = opening(facts, node)
                    self._ask("PATCH", f"{self._pods}/{facts.name}", self._tokens[node], patch, callers.PATCH)
                if facts.started:
                    ready.add(facts.name)
                    if len(ready) == len(nodes):
                        return time.monotonic() - began
        raise AssertionError(f"the watch ended with {len(ready)} of {len(nodes)} pods Ready")

    def end(self, workload: dict[str, Any], count: int) -> float:
        """Seconds from the delete to the last pod that is gone."""
        name = workload["metadata"]["name"]
        self._warm()
        gone: set[str] = set()
        with self._watching(name) as events:
            began = time.monotonic()
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
            self._ask("DELETE", f"{self._workloads}/{name}", self._first, body)
            for event in events:
                if event["type"] == "DELETED":
                    gone.add(event["object"]["metadata"]["name"])
                    if len(gone) == count:
                        return time.monotonic() - began
        raise AssertionError(f"the watch ended with {len(gone)} of {count} pods gone")

    def close(self) -> None:
        """The resident connection."""
        self._connection.close()

    def _warm(self) -> None:
        """The server closes what has been idle for long: a client that resides connects again, and not in our time."""
        try:
            self._connection.request("GET", "/version")
            self._connection.getresponse().read()
        except (http.client.HTTPException, OSError):
            self._connection.close()
            self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        server = self._server
        connection = http.client.HTTPSConnection(
            str(server.hostname), server.port, context=self._trust, timeout=_TIMEOUT
        )
        connection.connect()
        return connection

    @contextmanager
    def _watching(self, name: str) -> Iterator[Iterator[dict[str, Any]]]:
        """What there is, then every change; asked for before it is read."""
        selector = quote(f"slurm-k8s-bridge/run={name}")
        with ExitStack() as undone:

            def begin(since: str) -> SimpleQueue[bytes]:
                return undone.enter_context(self._told(f"?watch=1&labelSelector={selector}{since}"))

            yield self._events(begin(""), begin)

    def _events(
        self, lines: SimpleQueue[bytes], begin: Callable[[str], SimpleQueue[bytes]]
    ) -> Iterator[dict[str, Any]]:
        """Taken up where it was when the server ends the watch: it does where somebody takes events too slowly, as who
        has to wait for a processor behind some hundred others."""
        since = ""
        for _ in range(_WATCHES):
            for line in iter(lines.get, b""):
                event = self._event(line)
                assert event["type"] != "ERROR", event
                since = f"&resourceVersion={event['object']['metadata']['resourceVersion']}"
                yield event
            lines = begin(since)

    @contextmanager
    def _told(self, query: str) -> Iterator[SimpleQueue[bytes]]:
        """A watch that is read all the time, as while this patches."""
        headers = {"Authorization": f"Bearer {self._first}"}
        with closing(self._connect()) as connection:
            connection.request("GET", self._pods + query, headers=headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            lines: SimpleQueue[bytes] = SimpleQueue()
            reader = threading.Thread(target=_read, args=(answer, lines))
            reader.start()
            try:
                yield lines
            finally:
                with suppress(OSError):  # the server has ended it
                    connection.sock.shutdown(socket.SHUT_RDWR)  # nothing else ends the read under way
                reader.join()

    def _event(self, line: bytes) -> dict[str, Any]:
        self.bytes += len(line)
        event: dict[str, Any] = json.loads(line)
        return event

    def _ask(self, method: str, path: str, token: str, body: Any, kind: str = "application/json") -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        text = json.dumps(body).encode()
        self._connection.request(method, path, text, headers)
        answer = self._connection.getresponse()
        told = answer.read()
        self.bytes += len(text) + len(told)
        assert answer.status < 300, f"{method} {path}: {told.decode()}"


def _read(answer: http.client.HTTPResponse, lines: SimpleQueue[bytes]) -> None:
    """Whole lines, and an empty one where no more come."""
    with suppress(http.client.HTTPException, OSError):  # the connection ends under this reader
        for line in answer:
            if line.endswith(b"\n"):
                lines.put(line)
    lines.put(b"")
