"""Run other programs, keep their output in a log, and say how it went."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import StackError
from .places import cache

_print_lock = threading.Lock()
_began = time.monotonic()


def say(text: str) -> None:
    """Print one line of progress with the seconds since the command began."""
    with _print_lock:
        print(f"[{time.monotonic() - _began:6.1f}s] {text}", flush=True)


def log_file(name: str) -> Path:
    """Return the log that a long step writes to."""
    folder = cache() / "log"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}.log"


def output(command: Sequence[str], *, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> str:
    """Return what a short command prints; a failure raises with its last line."""
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        text = (done.stderr or done.stdout).decode(errors="replace").strip()
        last = text.splitlines()[-1] if text else f"exit status {done.returncode}"
        raise StackError(f"`{' '.join(command[:6])}` failed ({last})", "see the message of that command")
    return done.stdout.decode(errors="replace")


def succeeds(command: Sequence[str], timeout: float = 30) -> bool:
    """Tell whether a short command ends well."""
    try:
        return (
            subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=timeout,
                check=False,
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def logged(
    name: str, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, cure: str = ""
) -> None:
    """Run a long command with its output in a log, and a sign of life every 15 seconds."""
    path = log_file(name)
    began = time.monotonic()
    with path.open("ab") as log:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
        )
        try:
            while _still_runs(process):
                say(f"{name}: {time.monotonic() - began:.0f} s, {_last_line(path)}")
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise StackError(f"{name} failed ({_last_line(path)})", cure or f"read {path}")


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        return True
    return False


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1][:110] if lines else "nothing printed"


def await_true(what: str, probe: Callable[[], bool], limit: float, cure: str) -> None:
    """Ask again at once, more slowly as it lasts, until the probe says yes."""
    end = time.monotonic() + limit
    pause = 0.05
    while not probe():
        if time.monotonic() > end:
            raise StackError(f"{what} within {limit:.0f} s", cure)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def exec_replace(command: Sequence[str]) -> None:
    """Become another program, with our terminal and exit status."""
    sys.stdout.flush()
    os.execvp(command[0], list(command))
