"""What there is in the jobs' namespace, told by the API server to an administrator who stands beside."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.integration.pod_watch import OPTIONS, PAUSE, events
from tests.integration.stack import Stack

Object = dict[str, Any]
Take = Callable[[Object, bool], None]


class _Watch:
    """Tells of each object as it is, and once of each that is gone, as it last was."""

    def __init__(self, words: list[str], take: Take) -> None:
        self._words, self._take = words, take
        self._known: dict[str, Object] = {}
        self._told: set[str] = set()
        self._ended = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self.begun = threading.Event()

    def read(self) -> None:
        """Again and again until the end: API servers begin anew."""
        while not self._ended.is_set():
            self._told = set()
            with subprocess.Popen(self._words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                self._process = process
                if self._ended.is_set():
                    process.terminate()
                assert process.stdout is not None
                for event in events(process.stdout):
                    self._hear(event)
            self._ended.wait(PAUSE)

    def end(self) -> None:
        self._ended.set()
        if self._process is not None:
            self._process.terminate()

    def _hear(self, event: Object) -> None:
        if event["type"] == "BOOKMARK":
            for uid in self._known.keys() - self._told:  # gone while nobody watched
                self._take(self._known.pop(uid), True)
            self._told = set(self._known)
            self.begun.set()
            return
        told, uid = event["object"], event["object"]["metadata"]["uid"]
        self._told.add(uid)
        is_gone = event["type"] == "DELETED"
        if is_gone:
            self._known.pop(uid, None)
        else:
            self._known[uid] = told
        self._take(told, is_gone)


@contextmanager
def watching(stack: Stack, path: str, take: Take) -> Iterator[None]:
    """`take` is called with each object and whether it is gone, in a thread of its own."""
    watch = _Watch(stack.kubectl_command("get", "--raw", f"{path}?{OPTIONS}"), take)
    reader = threading.Thread(target=watch.read, name=f"watch {path}")
    reader.start()
    try:
        assert watch.begun.wait(30), f"nothing is told of {path}"
        yield
    finally:
        watch.end()
        reader.join()
