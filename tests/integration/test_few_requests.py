"""What one run asks of the API server, by its audit log: nothing that it has been told already."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from . import audit
from .specs import container_job
from .stack import NODES, Stack

_NODES = 2


@pytest.mark.parametrize("ends", ["by itself", "by its script"])
def test_a_run_asks_for_nothing_that_it_was_told(stack: Stack, ends: str) -> None:
    began = datetime.now(UTC).isoformat()
    ours = ends == "by itself"
    spec = container_job(stack.images["small"], "echo hello" if ours else "trap 'exit 0' TERM; sleep 600 & wait")
    job = stack.run(spec, f"-N{_NODES}", script="exec bridgectl attach" if ours else "sleep 1")
    stack.await_idle(60)
    asked = [entry for entry in audit.entries(Path(stack.description["audit_log"])) if _since(began, entry)]
    for rank, node in enumerate(NODES):
        mine = [entry for entry in asked if entry["user"]["username"].endswith(f":{node}")]
        named = Counter(_what(entry) for entry in mine if f"-{job.id}-0" in json.dumps(entry))
        streams = {("get", "pods")} if rank == 0 else set()  # a look at the pod before its log
        named = Counter({what: count for what, count in named.items() if what[0] != "watch" and what[1] != "pods/log"})
        named = Counter({what: count for what, count in named.items() if what not in streams})
        usual = {("create", "pytorchjobs"), ("patch", "pods"), ("delete", "pytorchjobs")}
        # The other node watches its own pod alone, and looks once whether the workload behind that is deleted, too.
        usual = usual if rank == 0 else {("patch", "pods"), ("get", "pytorchjobs")}
        # Who has waited long for another node deletes what that one should have deleted.
        assert usual <= named.keys() <= usual | {("delete", "pytorchjobs"), ("delete", "pods")}, (node, named)
        assert named[("get", "pytorchjobs")] == rank
        assert ("list", "pods") not in {_what(entry) for entry in mine}, "a proof is the beginning of a watch"
        proofs = [uri for uri in map(_uri, mine) if "/pods?" in uri and "labelSelector" not in uri]
        assert proofs and all(f"spec.nodeName%3D{node}" in uri and "sendInitialEvents=true" in uri for uri in proofs)


def _since(began: str, entry: dict[str, Any]) -> bool:
    return bool(entry["requestReceivedTimestamp"] >= began)


def _what(entry: dict[str, Any]) -> tuple[str, str]:
    of = entry["objectRef"]
    return entry["verb"], "/".join(filter(None, (of["resource"], of.get("subresource"))))


def _uri(entry: dict[str, Any]) -> str:
    return str(entry["requestURI"])
