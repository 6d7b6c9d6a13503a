"""Somebody on each machine of the stack, by one `docker exec` for the whole time: a new one for each word would cost
more than what it says."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.stack import Stack

_HERE = Path(__file__).parent


class Agent:
    """On a compute node (agent.py). `tell` is called with each line that it says."""

    def __init__(self, process: subprocess.Popen[str], tell: Callable[[dict[str, Any]], None]) -> None:
        self._process, self._tell = process, tell
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def say(self, *words: object) -> None:
        """A command of agent.py. Raises RuntimeError where nobody listens to it any more: what it had told would be
        missing, and the laws find fault with that."""
        if not self._reader.is_alive():
            raise RuntimeError("whoever listened to this node has ended: see what was printed above")
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(" ".join(map(str, words)) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """And everything that it has made."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._reader.join()
        self._process.stdout.close()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._tell(json.loads(line))


class Login:
    """A user on the login node (login.py)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lock = threading.Lock()

    def run(self, *words: str) -> str:
        """What a command prints. Raises RuntimeError with what it complains of."""
        return str(self._ask(list(words))["output"])

    def submit(self, options: Sequence[str], spec: str | None, script: str) -> tuple[int, str]:
        """The number of the job, and its working directory. Raises the same."""
        answer = self._ask({"options": list(options), "spec": spec, "script": script})
        return int(str(answer["output"]).split(";")[0]), str(answer["folder"])

    def _ask(self, asked: object) -> dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if answer["code"]:
            raise RuntimeError(str(answer["output"]).strip())
        return answer


@contextmanager
def agents(stack: Stack, tell: Callable[[str, dict[str, Any]], None]) -> Iterator[dict[str, Agent]]:
    """By node; `tell` is called with the node and each line."""
    program = (_HERE / "agent.py").read_text(encoding="utf-8")
    with ExitStack() as undone:
        found = {}
        for node in stack.nodes:
            process = _begun(stack, node, "/usr/bin/python3", "-I", "-S", "-c", program)
            found[node] = Agent(process, partial(tell, node))
            undone.callback(found[node].end)
        yield found


@contextmanager
def logs(stack: Stack) -> Iterator[None]:
    """On every compute node what its pods print can be read (logs.py)."""
    program = (_HERE / "logs.py").read_text(encoding="utf-8")
    with ExitStack() as undone:
        for node in stack.nodes:
            process = undone.enter_context(_begun(stack, node, "/usr/bin/python3", "-I", "-S", "-c", program))
            assert process.stdin is not None
            undone.callback(process.stdin.close)
        yield


@contextmanager
def login(stack: Stack, user: str) -> Iterator[Login]:
    """As this user."""
    program = (_HERE / "login.py").read_text(encoding="utf-8")
    with _begun(stack, "login", "/usr/bin/python3", "-I", "-S", "-c", program, user=user) as process:
        try:
            yield Login(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def on_each(stack: Stack, work: Callable[[str], object]) -> None:
    """This work on all compute nodes at once."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(work, stack.nodes))


def _begun(stack: Stack, service: str, *words: str, user: str = "") -> subprocess.Popen[str]:
    as_user = ["--user", user, "--env", f"HOME=/home/{user}"] if user else []
    command = ["docker", "exec", "-i", *as_user, stack.container(service), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
