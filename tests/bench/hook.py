"""Hooks that the bench starts itself, with sockets and markers of their own; or only what they would say."""

import base64
import os
import selectors
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.hook import conversation
from bridge.wire.frames import Decoder, encode

from .stamps import Span

PYTHON = "/usr/bin/python3"
_CLIENT = """
import os, sys
sys.path.insert(0, {library!r})
from bridge.hook import client, paths
places = paths.Paths(markers={folder!r} + "/runs", socket={folder!r} + "/hook.sock")
os._exit(client.run({phase!r}, os.environb, places, paths.Patience()))
"""


def client(phase: str, library: str, folder: str) -> str:
    """The hook's client as the hook starts it (`python3 -I -S -c`), for a daemon that listens in this folder."""
    return _CLIENT.format(phase=phase, library=library, folder=folder)


@dataclass(frozen=True)
class Hook:
    """One of a node."""

    program: str
    environment: Mapping[str, str]
    output: Path


def run_all(hooks: Mapping[str, Hook]) -> dict[str, Span]:
    """All at once, by node; when each began and ended. Each must let Slurm go on."""
    began: dict[int, tuple[str, float]] = {}
    group = 0
    for node, hook in hooks.items():
        words = [PYTHON, "-I", "-S", "-c", hook.program]
        to_file = (os.POSIX_SPAWN_OPEN, 1, str(hook.output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        at = time.time()
        child = os.posix_spawn(words[0], words, dict(hook.environment), file_actions=[to_file], setpgroup=group)
        group = group or child
        began[child] = (node, at)
    spans = {}
    while began:
        ended = os.waitid(os.P_PGID, group, os.WEXITED)
        assert ended is not None
        node, at = began.pop(ended.si_pid)
        spans[node] = Span(at, time.time())
        assert ended.si_status == 0, f"{node}: {hooks[node].output.read_text()}"
    return spans


def request(phase: str, environment: Mapping[str, str], spec: Path | None) -> dict[str, Any]:
    """What a hook asks; a batch node's brings the spec."""
    asked = conversation.request(phase, True, dict(environment))
    if spec is not None:
        asked["spec"] = {"path": str(spec), "data": base64.b64encode(spec.read_bytes()).decode()}
    return asked


def converse_all(sockets: Mapping[str, Path], requests: Mapping[str, dict[str, Any]]) -> dict[str, Span]:
    """Hooks without processes, by node: all ask at once, and each waits for its answer."""
    spans: dict[str, Span] = {}
    with selectors.DefaultSelector() as selector:
        began = {}
        for node, path in sockets.items():
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(str(path))
            began[node] = time.time()
            connection.sendall(encode(requests[node]))
            selector.register(connection, selectors.EVENT_READ, (node, Decoder()))
        while len(spans) < len(sockets):
            for key, _ in selector.select():
                node, decoder = key.data
                assert isinstance(key.fileobj, socket.socket)
                if _is_answered(key.fileobj, decoder):
                    spans[node] = Span(began[node], time.time())
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    return spans


def _is_answered(connection: socket.socket, decoder: Decoder) -> bool:
    """After what has come; nothing is left on a node that nobody can look at."""
    data = connection.recv(65536)
    assert data, "the daemon has hung up"
    for message in decoder.feed(data):
        if message["kind"] == "answer":
            assert message["exit"] == 0, message
            return True
        if message["kind"] == "scan":
            connection.sendall(encode({"kind": "scanned", "id": message["id"], "leftovers": [], "error": None}))
    return False
