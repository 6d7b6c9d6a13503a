"""Watchers of both systems that have nothing to do with the bridge. What they are told goes into one queue."""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.demo.errors import DemoError
from tests.demo.moments import Told
from tests.integration.stack import NODES, Stack

_PATIENCE = 20.0  # seconds for a watch to be there
_LOG = {"slurmctld": "/var/log/slurm/slurmctld.log", **dict.fromkeys(NODES, "/var/log/slurm/slurmd.log")}
_KINDS = {"pods": "/api/v1", "pytorchjobs": "/apis/kubeflow.org/v1"}
# The API server says what there is, then that this was all (a bookmark), then every change.
_WATCH = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"

# Slurm tells nobody that a node is idle: it has to be asked. `docker exec` leaves behind what it started
# when it ends; the end of standard input doesn't.
_UNTIL_EOF = "{ %s; } & cat >/dev/null; kill $!"
_FOLLOW = "exec tail -n 1 -s 0.05 -F %s 2>/dev/null"  # -s: where the machine has no inotify watch left, it polls
_ASK_NODES = "while sinfo --noheader --Node --format='%N %T' | tr '\\n' ' ' && echo; do sleep 0.1; done"

Take = Callable[[float, str], None]


class Watchers:
    """All watchers of one demo; ``clock`` is the one clock of everything that they are told."""

    def __init__(self, stack: Stack, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack = stack
        self._clock = clock
        self._told: queue.Queue[Told] = queue.Queue()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Pods, PyTorchJobs and the logs of Slurm's daemons; every one is there before the body begins."""
        with ExitStack() as stack:
            ready = [stack.enter_context(self._cluster(kind)) for kind in _KINDS]
            ready += [stack.enter_context(self._log(service)) for service in _LOG]
            for event in ready:
                if not event.wait(_PATIENCE):
                    raise DemoError(f"a watch was not there after {_PATIENCE:.0f} s; see that the stack is healthy")
            yield

    @contextmanager
    def watching_nodes(self) -> Iterator[None]:
        """Slurm's state of each node."""

        def take(at: float, line: str) -> None:
            words = line.split()
            self._told.put(Told(at, "nodes", dict(zip(words[::2], words[1::2], strict=True))))

        with self._lines(self._inside("login", _ASK_NODES), take):
            yield

    def next(self, seconds: float) -> Told | None:
        """The next thing that one of them was told, or None when nothing comes."""
        try:
            return self._told.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None

    @contextmanager
    def _cluster(self, kind: str) -> Iterator[threading.Event]:
        ready = threading.Event()

        def take(at: float, line: str) -> None:
            event: dict[str, Any] = json.loads(line)
            if event["type"] == "BOOKMARK":
                ready.set()
            elif event["type"] != "ERROR":
                self._told.put(Told(at, kind, event))

        description = self._stack.description
        path = f"{_KINDS[kind]}/namespaces/{self._stack.namespace}/{kind}?{_WATCH}"
        kubectl = [description["kubectl"], "--kubeconfig", description["admin_kubeconfig"]]
        with self._lines([*kubectl, "get", "--raw", path], take):
            yield ready

    @contextmanager
    def _log(self, service: str) -> Iterator[threading.Event]:
        ready = threading.Event()

        def take(at: float, line: str) -> None:
            # The first line is an old one: it shows that the log is followed.
            if ready.is_set():
                self._told.put(Told(at, service, line))
            ready.set()

        with self._lines(self._inside(service, _FOLLOW % _LOG[service]), take):
            yield ready

    def _inside(self, service: str, script: str) -> list[str]:
        return ["docker", "exec", "-i", self._stack.container(service), "sh", "-c", _UNTIL_EOF % script]

    @contextmanager
    def _lines(self, command: Sequence[str], take: Take) -> Iterator[None]:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        reader = threading.Thread(target=self._read, args=(process, take))
        reader.start()
        try:
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()
            if command[0] != "docker":
                process.terminate()
            process.wait()
            reader.join()

    def _read(self, process: subprocess.Popen[str], take: Take) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                take(self._clock(), line.rstrip("\n"))
