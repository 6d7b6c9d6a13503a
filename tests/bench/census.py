"""Everything that a run made the API server do, by who asked, from its audit log."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from .passage import received

_ASKS = {
    "slurm-k8s-bridge": "bridge",
    "training-operator": "operator",
    "kube-controller-manager": "controllers",
    "kube-scheduler": "scheduler",
    "kubelet": "kubelets",
    "kwok": "kubelets",
}
PARTIES = (*dict.fromkeys(_ASKS.values()), "events")
"""Whose requests are told apart; events are told apart from whoever writes them, and logs are not told."""
_WRITES = {"create", "update", "patch", "delete"}
_SETTLED = 2.0  # seconds without a word of the run, after which nobody is at work on it any more


def census(log: Path, workload: str, since: float) -> dict[str, list[float]]:
    """Requests of each, and what etcd had to write for all, once everybody is done with the run that began then."""
    before, found = -1, _entries(log, workload, since)
    while len(found) > before:
        time.sleep(_SETTLED)
        before, found = len(found), _entries(log, workload, since)
    asked = Counter(map(_who, found.values()))
    written = Counter(_who(entry) for entry in found.values() if entry["verb"] in _WRITES and _is_done(entry))
    in_vain = sum(_who(entry) == "bridge" and _is_in_vain(entry) for entry in found.values())
    return {
        **{f"requests: {who}": [float(asked[who])] for who in PARTIES},
        "requests in vain: bridge": [float(in_vain)],
        **{f"writes: {who}": [float(written[who])] for who in PARTIES},
    }


def _entries(log: Path, workload: str, since: float) -> dict[str, dict[str, Any]]:
    """Those that name the workload or something of it, each once."""
    # A run's name ends in its restart; what belongs to it goes on with a hyphen or a dot.
    marks = [f"{workload}{end}" for end in ('"', "-", ".", "&", "?", "/")]
    found = {}
    for file in log.parent.glob(f"{log.stem}*{log.suffix}"):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if workload in line and any(mark in line for mark in marks):
                    entry = json.loads(line)
                    if received(entry) >= since:
                        found[str(entry["auditID"])] = entry
    return found


def _who(entry: dict[str, Any]) -> str:
    of = entry["objectRef"]
    if of["resource"] == "events":
        return "events"
    who = _ASKS.get(str(entry.get("userAgent")).partition("/")[0], "")
    return "" if of.get("subresource") == "log" else who


def _is_done(entry: dict[str, Any]) -> bool:
    return _code(entry) < 300


def _is_in_vain(entry: dict[str, Any]) -> bool:
    """Whether somebody asks that again: the server was too busy, or had no answer before the client gave up (500)."""
    return _code(entry) == 429 or _code(entry) >= 500


def _code(entry: dict[str, Any]) -> int:
    return int(entry.get("responseStatus", {}).get("code", 500))
