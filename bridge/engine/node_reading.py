"""This node's Node, as the API server showed it last: the pulse asks for it each minute, so that most runs need not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridge import clock
from bridge.kube.api import Kubernetes

LASTS = 120.0  # seconds; a kubelet that is gone has its Node doubted after 40, and a boot ends this daemon, too


@dataclass(frozen=True)
class Reading:
    """What a Node said of itself at a moment of the boot clock."""

    node: str
    at: float
    boot_id: str
    allocatable: Mapping[str, Any]


class NodeReadings:
    """Asked from several threads; the last answer is kept."""

    def __init__(self, kube: Kubernetes) -> None:
        self._kube = kube
        self._last: Reading | None = None

    def take(self, node: str) -> Reading:
        """What it says now. Raises the errors of `bridge.errors`."""
        self._last, at = None, clock.now()
        status = self._kube.node(node).get("status") or {}
        boot_id = str((status.get("nodeInfo") or {}).get("bootID") or "")
        self._last = Reading(node, at, boot_id, status.get("allocatable") or {})
        return self._last

    def recent(self, node: str) -> Reading | None:
        """What it said a moment ago, if it was asked then and answered."""
        last = self._last
        return last if last is not None and last.node == node and clock.now() < last.at + LASTS else None
