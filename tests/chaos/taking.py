"""The stack of this checkout, for one chaos at a time, and as it should be when that begins."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tests.integration.stack import STACK, Stack

_TAKEN = (
    "another chaos is at work on the stack of this checkout, and two would break each other's laws: wait for its end, "
    "or have it put the stack back and end: kill {pid}"
)
_LEFT = "a chaos was killed at its work on this stack, and its nodes are as that left them: the stack is made anew"


@contextmanager
def taken() -> Iterator[Stack]:
    """The stack as long as this lasts, started if it is not up. Raises SystemExit where another one has it."""
    if before := _folder():
        with _alone(before) as killed:
            if killed:
                print(_LEFT, file=sys.stderr, flush=True)
                subprocess.run([STACK, "down"], check=True, stdout=sys.stderr)
    subprocess.run([STACK, "up"], check=True, stdout=sys.stderr)
    stack = Stack(Stack.describe())
    with _alone(Path(str(stack.description["run_dir"]))):
        yield stack


def _folder() -> Path | None:
    """Of the stack, healthy or not, and None where there is none. It goes with the stack."""
    told = subprocess.run([STACK, "status", "--json"], check=False, capture_output=True, text=True).stdout
    return Path(json.loads(told)["run_dir"]) if told else None


@contextmanager
def _alone(folder: Path) -> Iterator[str]:
    """With nobody else on the stack of this folder. A file has the process that is at work there, and is empty where
    none is: which one was killed at its work before, or ''."""
    with (folder / "chaos").open("a+", encoding="utf-8") as mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(_TAKEN.format(pid=_read(mark)))
        killed = _read(mark)
        _write(mark, str(os.getpid()))
        try:
            yield killed
        except (KeyboardInterrupt, SystemExit):  # asked to leave, with everything put back
            _write(mark, "")
            raise
        _write(mark, "")


def _read(mark: TextIO) -> str:
    mark.seek(0)
    return mark.read()


def _write(mark: TextIO, text: str) -> None:
    mark.truncate(0)
    mark.write(text)
    mark.flush()
