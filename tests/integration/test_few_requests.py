"""What one run asks of the API server, by its audit log: nothing that it has been told already."""

import json
import math
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from . import audit
from .specs import container_job
from .stack import NODES, Stack

_NODES = 2
_PATIENCE = {  # seconds behind the epilog's beginning, as bridge/engine/crowd.py and wanted_release.py have them
    ("delete", "pytorchjobs"): 1.0,  # who has waited for the batch node deletes what that one should have deleted,
    ("delete", "pods"): 2.0,  # and its pod, where the garbage collector has not,
    ("get", "pods"): 10.0,  # and proves that it is gone where its watch does not tell
}


@pytest.mark.parametrize("ends", ["by itself", "by its script"])
def test_a_run_asks_for_nothing_that_it_was_told(stack: Stack, ends: str) -> None:
    since = datetime.now(UTC).isoformat()
    ours = ends == "by itself"
    spec = container_job(stack.images["small"], "echo hello" if ours else "trap 'exit 0' TERM; sleep 600 & wait")
    job = stack.run(spec, f"-N{_NODES}", script="exec bridgectl attach" if ours else "sleep 1")
    stack.await_idle(60)
    asked = [
        entry
        for entry in audit.entries(Path(stack.description["audit_log"]))
        if entry["requestReceivedTimestamp"] >= since
    ]
    for rank, node in enumerate(NODES):
        mine = [entry for entry in asked if entry["user"]["username"].endswith(f":{node}")]
        named = [entry for entry in mine if f"-{job.id}-0" in json.dumps(entry) and not _is_stream(entry)]
        what = Counter(map(_what, named))
        usual = {("create", "pytorchjobs"), ("patch", "pods"), ("delete", "pytorchjobs")}
        # The other node watches its own pod alone, and looks once whether the workload behind that is deleted, too.
        usual = usual if rank == 0 else {("patch", "pods"), ("get", "pytorchjobs")}
        looks = {("get", "pods")} if rank == 0 else set()  # at the pod before its log
        began = stack.epilog_began(node, job)
        more = [(*_what(entry), _behind(began, entry)) for entry in named if _what(entry) not in usual | looks]
        early = [(verb, of, behind) for verb, of, behind in more if behind < _PATIENCE.get((verb, of), math.inf)]
        assert usual <= what.keys() and not early, (node, what, more)
        assert what[("get", "pytorchjobs")] == rank
        assert ("list", "pods") not in {_what(entry) for entry in mine}, "a proof is the beginning of a watch"
        proofs = [uri for uri in map(_uri, mine) if "/pods?" in uri and "labelSelector" not in uri]
        assert proofs and all(f"spec.nodeName%3D{node}" in uri and "sendInitialEvents=true" in uri for uri in proofs)


def _is_stream(entry: dict[str, Any]) -> bool:
    return entry["verb"] == "watch" or _what(entry)[1] == "pods/log"


def _behind(began: float, entry: dict[str, Any]) -> float:
    return audit.at(entry["requestReceivedTimestamp"]) - began


def _what(entry: dict[str, Any]) -> tuple[str, str]:
    of = entry["objectRef"]
    return entry["verb"], "/".join(filter(None, (of["resource"], of.get("subresource"))))


def _uri(entry: dict[str, Any]) -> str:
    return str(entry["requestURI"])
