"""What the nodes' daemons have asked of Kubernetes, as the API server's own log has it, beside what they may ask."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bridge import wellknown
from bridge.kube.rights import RIGHTS, Scope

_AGENT = "slurm-k8s-bridge"  # a test that asks with a node's credential has another
_NODE = f"system:serviceaccount:{wellknown.ACCOUNTS}:"

Asked = tuple[str, str, str, str]  # verb, API group, resource, scope


def asked(log: Path, since: str) -> set[Asked]:
    """Everything that daemons have asked since this moment (RFC 3339, UTC), granted or not."""
    of_nodes = (entry for entry in entries(log) if who(entry).startswith(_NODE))
    return {_right(entry) for entry in of_nodes if entry["requestReceivedTimestamp"] >= since}


def entries(log: Path, agent: str = _AGENT) -> Iterator[dict[str, Any]]:
    """Everything that programs of this name have asked of objects."""
    mark = f'"userAgent":"{agent}/'
    for file in log.parent.glob(f"{log.stem}*{log.suffix}"):  # it is rotated
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if mark in line:
                    entry = json.loads(line)
                    if "objectRef" in entry:
                        yield entry


def who(entry: Mapping[str, Any]) -> str:
    """The user's name; empty for one whom the API server does not know (401)."""
    return str(entry["user"].get("username", ""))


def at(stamp: str) -> float:
    """Seconds since the epoch."""
    return datetime.fromisoformat(stamp).timestamp()


def _right(entry: dict[str, Any]) -> Asked:
    of = entry["objectRef"]
    resource = "/".join(filter(None, (of["resource"], of.get("subresource"))))
    scope = {None: Scope.CLUSTER, wellknown.ACCOUNTS: Scope.OWN}.get(of.get("namespace"), Scope.JOBS)
    return entry["verb"], of.get("apiGroup", ""), resource, scope.value


def complaints(used: Iterable[Asked]) -> list[str]:
    """What is asked and not in the table, and what is in the table and nobody has asked."""
    granted = {(right.verb, right.group, right.resource, right.scope.value) for right in RIGHTS}
    seen = set(used)
    return [f"asked, and not in bridge/kube/rights.py: {' '.join(each)}" for each in sorted(seen - granted)] + [
        f"in bridge/kube/rights.py, and nobody asks it: {' '.join(each)}" for each in sorted(granted - seen)
    ]
