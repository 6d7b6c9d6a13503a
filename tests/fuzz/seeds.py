"""What fuzzing begins with: what real people, servers and hooks have said, as far as the tests have it recorded."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bridge.wire.frames import encode
from tests.unit.engine.clients import Job

_TESTS = Path(__file__).parents[1]
_UNIT = _TESTS / "unit"
_JOB = Job(("n1", "n2"))
_STAMPED = b"".join(b"2026-01-01T00:00:0%d.00000000%dZ line %d\n" % (n // 3, n, n) for n in range(9))


def _hook_socket() -> Iterator[bytes]:
    asked = {"v": 1, **_JOB.prolog("n1")}
    found = {"v": 1, "kind": "scanned", "id": 1, "leftovers": [{"pid": 7, "command": "python", "why": "its cgroup"}]}
    yield encode(asked) + encode(found)
    yield encode({"v": 1, **_JOB.epilog("n2"), "marker": {"restart": 0, "start": 7}, "began": 1.5, "lingers": True})


def _user_socket() -> Iterator[bytes]:
    for verb in ("attach", "stop", "status", "ps", "show", "gc", "logs"):
        after = {"0": "2026-01-01T00:00:00Z 1 0", "1": "2026-01-01T00:00:00+01:00"}
        yield encode({"v": 1, "verb": verb, "job": 7, "restart": 1, "after": after, "ranks": [0], "every": True})


def _spec() -> Iterator[bytes]:
    for folder in (_UNIT / "job" / "specs", _TESTS / "manifests" / "public"):
        for file in sorted(folder.glob("*.yaml")):
            yield file.read_bytes()


def _environment() -> Iterator[bytes]:
    for node in _JOB.nodes:
        given = (f"{name.removeprefix('SLURM_')}={value}" for name, value in _JOB.env(node).items())
        yield "\0".join(given).encode()


def _node_list() -> Iterator[bytes]:
    yield from (b"n1", b"n[1-3,7]", b"r[01-02]n[1-2],login", b"2(x3),1", b"a[1-2]b[3]c", b"n[001-999]")


def _slurmrest_answer() -> Iterator[bytes]:
    for file in sorted((_UNIT / "slurmrest" / "recorded").rglob("*.json")):
        yield _with_status(200, file.read_bytes())
    for allocation in json.loads((_TESTS / "allocations" / "recorded.json").read_text())[:10]:
        yield _with_status(200, json.dumps({"jobs": [allocation["job"]]}).encode())
    for fault in ({"error_number": 2017, "error": "Invalid job id"}, {"error_number": -1, "description": "no"}):
        yield _with_status(500, json.dumps({"errors": [fault]}).encode())


def _kubernetes_answer() -> Iterator[bytes]:
    for file in sorted((_UNIT / "job" / "recorded").glob("*.json")):
        recorded: dict[str, Any] = json.loads(file.read_text())
        item = recorded["object"]
        if recorded["kind"] == "refusal":
            yield _with_status(item["status"], item["body"].encode())
        else:
            yield _with_status(200, json.dumps(item).encode())


def _log() -> Iterator[bytes]:
    yield _STAMPED
    yield _STAMPED + b"2026-01-01T00:00:09Z " + b"x" * 200_000
    yield _STAMPED + b"failed to watch the log\n" + _STAMPED


_SEEDS: dict[str, Callable[[], Iterator[bytes]]] = {
    "hook_socket": _hook_socket,
    "user_socket": _user_socket,
    "spec": _spec,
    "environment": _environment,
    "node_list": _node_list,
    "slurmrest_answer": _slurmrest_answer,
    "kubernetes_answer": _kubernetes_answer,
    "log": _log,
}


def seeds(target: str) -> list[bytes]:
    """Those of one target."""
    return list(_SEEDS[target]())


def _with_status(status: int, body: bytes) -> bytes:
    return (status - 100).to_bytes(2, "big") + body
