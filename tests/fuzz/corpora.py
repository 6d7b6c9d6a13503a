"""Folders of inputs: `seed TARGET FOLDER` writes the recorded ones, `keep TARGET FOUND KEPT` takes what is worth it.

Worth keeping is a short input that comes to a line of the code to which neither a recorded nor a shorter one came.
"""

import hashlib
import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS, Target

_SHORT = 2048  # bytes
_CODE = str(Path(__file__).parents[2] / "bridge")


def _seed(target: str, folder: Path) -> None:
    for data in seeds(target):
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def _keep(target: str, found: Path, kept: Path) -> None:
    known = {line for data in seeds(target) for line in _lines(TARGETS[target], data)}
    files = [file for folder in (kept, found) for file in folder.iterdir() if file.stat().st_size <= _SHORT]
    for file in sorted(files, key=lambda file: (file.stat().st_size, file.parent != kept)):
        new = _lines(TARGETS[target], file.read_bytes()) - known
        known |= new
        if new and file.parent != kept:
            shutil.copy(file, kept / hashlib.sha1(file.read_bytes()).hexdigest()[:12])


def _lines(target: Target, data: bytes) -> set[tuple[str, int]]:
    """Those of our own code that this input comes to."""
    seen: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(_CODE):
            return None
        if event == "line":
            seen.add((name, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        target(data)
    finally:
        sys.settrace(None)
    return seen


match sys.argv[1:]:
    case ["seed", target, folder]:
        _seed(target, Path(folder))
    case ["keep", target, found, kept]:
        _keep(target, Path(found), Path(kept))
    case _:
        sys.stdout.write(" ".join(TARGETS))
