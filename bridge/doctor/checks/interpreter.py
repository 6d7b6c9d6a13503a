"""The two interpreters: the daemon's environment, and the Python of the node that runs the hooks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.messages import doctor as messages

DAEMON = "/usr/lib/slurm-k8s-bridge/venv/bin/python"
HOOK = "/usr/bin/python3"
_OLDEST = {DAEMON: (3, 11), HOOK: (3, 6)}
_NEEDS = {
    DAEMON: "import httpx, kubernetes.client.rest, pydantic, structlog, tenacity, yaml",
    HOOK: "import json, socket, struct",
}


@dataclass(frozen=True)
class Interpreter:
    """``version`` as `3.11`, '' where it does not run with what it needs, and ``why`` then."""

    path: str
    version: str
    why: str = ""


def _asked(place: Place, path: str) -> Interpreter:
    program = str(place.path(path))
    flags = ["-I"] if path == DAEMON else ["-I", "-S"]
    try:
        said = place.command(program, *flags, "-c", f"{_NEEDS[path]}; import sys; print(sys.version.split()[0])")
    except BridgeError as error:
        return Interpreter(path, "", clause(error))
    return Interpreter(path, said.strip())


def look(place: Place) -> tuple[Interpreter, ...]:
    return tuple(_asked(place, path) for path in _OLDEST)


def judge(facts: tuple[Interpreter, ...]) -> Iterator[Told]:
    for found in facts:
        oldest = _OLDEST[found.path]
        number = re.match(r"(\d+)\.(\d+)", found.version)
        if number is None:
            yield messages.PYTHON_UNUSABLE.told(path=found.path, why=found.why or found.version)
        elif (int(number[1]), int(number[2])) < oldest:
            wanted = ".".join(map(str, oldest))
            yield messages.PYTHON_OLD.told(path=found.path, version=found.version, oldest=wanted)


CHECK = Check("interpreter", "Python of the daemon and of the hooks, with what they import", look, judge)
