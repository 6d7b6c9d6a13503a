"""Every change of workloads and pods, as a watcher of its own saw it."""

import json
import math
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.integration import audit, callers
from tests.integration.stack import Stack

# What there is comes first, then a bookmark, then every change.
_OPTIONS = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
_NAME = "metadata.name="


@dataclass
class Changes:
    """Of one namespace: when each event came, and its resource and name."""

    seen: list[tuple[float, tuple[str, str]]] = field(default_factory=list)
    gone: set[tuple[str, str]] = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, resource: str, event: dict[str, Any]) -> None:
        """One event."""
        what = (resource, str(event["object"]["metadata"].get("name", "")))
        with self.changed:
            self.seen.append((time.time(), what))
            if event["type"] == "DELETED":
                self.gone.add(what)
            self.changed.notify_all()

    def of(self, workload: str, watches: Sequence[dict[str, Any]]) -> int:
        """Events of this workload and its pods that these watches (entries of the audit log) were sent, once it is
        gone."""
        with self.changed:
            assert self.changed.wait_for(lambda: ("pytorchjobs", workload) in self.gone, 30), workload
            seen = [(at, what) for at, what in self.seen if what[1].startswith(workload)]
        return sum(_told(entry, seen) for entry in watches)


def _told(entry: Mapping[str, Any], seen: Sequence[tuple[float, tuple[str, str]]]) -> int:
    """What this watch was sent: all that was there when it began, and what came until it ended."""
    began = audit.at(entry["requestReceivedTimestamp"])
    ended = audit.at(entry["stageTimestamp"]) if entry["stage"] == "ResponseComplete" else math.inf
    resource, name = entry["objectRef"]["resource"], _name(entry)
    mine = [(at, its) for at, (kind, its) in seen if kind == resource and name in ("", its)]
    return len({its for at, its in mine if at < began}) + sum(began <= at <= ended for at, _ in mine)


def _name(entry: Mapping[str, Any]) -> str:
    """Of the one object that is watched; '' for all."""
    selectors = parse_qs(urlsplit(entry["requestURI"]).query).get("fieldSelector", [""])
    named = [part for part in selectors[0].split(",") if part.startswith(_NAME)]
    return named[0].removeprefix(_NAME) if named else ""


@contextmanager
def changes(stack: Stack) -> Iterator[Changes]:
    """Watched from now on."""
    found = Changes()
    with ExitStack() as undone:
        for resource, path in (("pods", callers.pods(stack)), ("pytorchjobs", callers.workloads(stack))):
            undone.enter_context(_watched(stack, resource, path, found))
        yield found


@contextmanager
def _watched(stack: Stack, resource: str, path: str, found: Changes) -> Iterator[None]:
    words = stack.kubectl_command("get", "--raw", f"{path}?{_OPTIONS}")
    begun = threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "BOOKMARK":
                begun.set()
            else:
                found.take(resource, event)

    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=read)
        reader.start()
        try:
            assert begun.wait(20), f"no watch of {resource}"
            yield
        finally:
            process.terminate()
            reader.join()
