"""What one run asks of the API server, by its audit log: nothing that it has been told already."""

import json
import math
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridge import wellknown

from . import audit
from .specs import SCRIPT_UNTIL_GO, UNTIL_LET_GO, container_job
from .stack import NODES, Stack, eventually

_NODES = 2
# Who takes pods away: the garbage collector, and the node's own, behind it, where processes are to end first.
_ENDERS = ("kube-controller-manager", "kubelet")
_PATIENCE = {  # seconds behind the epilog's beginning, as bridge/engine/crowd.py and wanted_release.py have them
    ("delete", "pytorchjobs"): 1.0,  # who has waited for the batch node deletes what that one should have deleted,
    ("delete", "pods"): 2.0,  # and its pod, where the garbage collector has not,
    ("get", "pods"): 10.0,  # and proves that it is gone where its watch does not tell
}

_Entry = dict[str, Any]


@pytest.mark.parametrize(
    ("training", "script"),
    [("echo hello", "exec bridgectl attach"), (UNTIL_LET_GO, "true")],
    ids=["ends by itself", "ends with its script"],
)
def test_a_run_asks_for_nothing_that_it_was_told(stack: Stack, training: str, script: str) -> None:
    since = datetime.now(UTC).isoformat()
    job = stack.run(container_job(stack.images["small"], training), f"-N{_NODES}", script=script)
    for rank, node in enumerate(NODES):
        mine = _asked(stack, since, node)
        named = [entry for entry in mine if f"-{job.id}-0" in json.dumps(entry) and not _is_stream(entry)]
        what = Counter(map(_what, named))
        usual = {("create", "pytorchjobs"), ("patch", "pods"), ("delete", "pytorchjobs")}
        # The other node watches its own pod alone, and looks once whether the workload behind that is deleted, too.
        usual = usual if rank == 0 else {("patch", "pods"), ("get", "pytorchjobs")}
        looks = {("get", "pods")} if rank == 0 else set()  # at the pod before its log
        began = stack.epilog_began(node, job)
        more = [entry for entry in named if _what(entry) not in usual | looks]
        more = [entry for entry in more if not _is_late(began, entry) and not _is_untold(stack, mine, began, entry)]
        assert usual <= what.keys() and not more, (node, began, what, more)
        assert what[("get", "pytorchjobs")] == rank
        assert ("list", "pods") not in {_what(entry) for entry in mine}, "a proof is the beginning of a watch"
        proofs = [uri for uri in map(_uri, mine) if "/pods?" in uri and "labelSelector" not in uri]
        assert proofs and all(f"spec.nodeName%3D{node}" in uri and "sendInitialEvents=true" in uri for uri in proofs)


def test_a_node_that_comes_late_asks_once_for_its_pod_by_name(stack: Stack) -> None:
    """Its watch has ended with the prolog, and the next one, of its epilog, begins behind the pod's deletion."""
    since, node = datetime.now(UTC).isoformat(), NODES[1]
    script = f"bridgectl attach; echo ended; {SCRIPT_UNTIL_GO}"
    job = stack.submit(container_job(stack.images["small"], "echo hello"), f"-N{_NODES}", script=script)
    eventually(lambda: "ended\n" in stack.output(job), 120, "the end of the training")
    pid = stack.main_pid(node)
    stack.exec(node, "kill", "-STOP", pid)
    try:
        stack.exec("login", "touch", f"{job.directory}/go", user=job.user)
        pods = f"{wellknown.LABEL_JOB}={job.id}"
        eventually(lambda: not stack.objects("pods", pods), 25, "no pod, while the node's daemon stands still")
    finally:
        stack.exec(node, "kill", "-CONT", pid)
    stack.await_end(job)
    mine = _asked(stack, since, node)
    looks = [entry for entry in mine if _what(entry) == ("get", "pods") and f"-{job.id}-0-" in _uri(entry)]
    assert len(looks) == 1 and looks[0]["responseStatus"]["code"] == 404
    assert _is_untold(stack, mine, stack.epilog_began(node, job), looks[0])


def _asked(stack: Stack, since: str, node: str) -> list[_Entry]:
    """What a node's daemon has asked since this moment (RFC 3339, UTC)."""
    entries = audit.entries(_log(stack))
    mine = [entry for entry in entries if audit.who(entry).endswith(f":{node}")]
    return [entry for entry in mine if entry["requestReceivedTimestamp"] >= since]


def _is_late(began: float, entry: _Entry) -> bool:
    """Whether the epilog had waited for long enough for what it does in place of others."""
    return audit.at(entry["requestReceivedTimestamp"]) - began >= _PATIENCE.get(_what(entry), math.inf)


def _is_untold(stack: Stack, mine: list[_Entry], began: float, entry: _Entry) -> bool:
    """Whether this asks for a pod that was deleted before the watch of the node's epilog could have shown it."""
    return _what(entry) == ("get", "pods") and _gone_unseen(stack, mine, began, entry["objectRef"]["name"])


def _gone_unseen(stack: Stack, mine: list[_Entry], began: float, pod: str) -> bool:
    watches = [entry for entry in mine if entry["verb"] == "watch" and entry["stage"] == "ResponseStarted"]
    shown = [audit.at(entry["stageTimestamp"]) for entry in watches if entry["objectRef"].get("name") == pod]
    ended = [entry for agent in _ENDERS for entry in audit.entries(_log(stack), agent) if _ends(entry, pod)]
    gone = max((audit.at(entry["requestReceivedTimestamp"]) for entry in ended), default=math.inf)
    return gone < min((at for at in shown if at >= began), default=-math.inf)


def _ends(entry: _Entry, pod: str) -> bool:
    """Not one of a second ender, who finds nothing more."""
    done = entry["responseStatus"].get("code") == 200
    return done and _what(entry) == ("delete", "pods") and entry["objectRef"].get("name") == pod


def _log(stack: Stack) -> Path:
    return Path(stack.description["audit_log"])


def _is_stream(entry: _Entry) -> bool:
    return entry["verb"] == "watch" or _what(entry)[1] == "pods/log"


def _what(entry: _Entry) -> tuple[str, str]:
    of = entry["objectRef"]
    return entry["verb"], "/".join(filter(None, (of["resource"], of.get("subresource"))))


def _uri(entry: _Entry) -> str:
    return str(entry["requestURI"])
