"""Somebody beside the bridge who watches the pods of the jobs."""

import json
import subprocess
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

PAUSE = 0.2  # seconds between two watches, where nobody answers
# The server tells what there is, then that this was all (a bookmark), then every change.
OPTIONS = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"


@dataclass
class PodWatch:
    """An independent watcher: when each pod became ready and was gone (seconds since the epoch), and where it is bound;
    ``places`` are all nodes to which one of that name was ever bound."""

    ready: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)
    begun: threading.Event = field(default_factory=threading.Event)
    _there: set[str] = field(default_factory=set)
    _process: subprocess.Popen[str] | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    def read(self, words: Sequence[str]) -> None:
        """What this command tells, again and again until the end: a server that is too busy ends watches."""
        while not self._ended.is_set():
            self._there = set()
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
                self._process = process
                if self._ended.is_set():
                    process.terminate()
                assert process.stdout is not None
                for event in events(process.stdout):
                    self.take(event)
            self._ended.wait(PAUSE)

    def end(self) -> None:
        """Nobody wants to know any more."""
        self._ended.set()
        if self._process is not None:
            self._process.terminate()

    def take(self, event: dict[str, Any]) -> None:
        """One event of the watch."""
        at, pod = time.time(), event["object"]
        if event["type"] == "BOOKMARK":
            self._take_all_told(at)
            return
        name = pod["metadata"]["name"]
        self._there.add(name)
        with self.changed:
            self.nodes[name] = pod["spec"].get("nodeName", "")
            self.places.setdefault(name, set()).update({self.nodes[name]} - {""})
            conditions = {item["type"]: item["status"] for item in pod["status"].get("conditions", [])}
            if conditions.get("Ready") == "True":
                self.ready.setdefault(name, at)
            if event["type"] == "DELETED":
                self.gone[name] = at
            self.changed.notify_all()

    def _take_all_told(self, at: float) -> None:
        """The end of what is there: what is missing went while nobody watched."""
        with self.changed:
            for name in self.places.keys() - self._there - self.gone.keys():
                self.gone[name] = at
            self.changed.notify_all()
        self.begun.set()

    def await_ready(self, count: int, seconds: float) -> None:
        """Until so many pods have been ready."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.ready) >= count, seconds), f"ready: {self.ready}"

    def await_gone(self, names: Collection[str], seconds: float) -> None:
        """Until these have been ready and are gone: others may have been told before this watcher."""
        with self.changed:
            told = self.changed.wait_for(lambda: self.gone.keys() >= set(names) <= self.ready.keys(), seconds)
            assert told, f"not seen: {sorted(set(names) - self.gone.keys()) or 'ready'}"


def events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Until the server says that it ends the watch, or it is cut off in the middle of a line."""
    for line in lines:
        event = json.loads(line) if line.endswith("\n") else {"type": "ERROR"}
        if event["type"] == "ERROR":
            return
        yield event
