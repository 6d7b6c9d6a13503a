"""Node, NodeName and machine, by a Node of 1.36 and a node of Slurm 24.11."""

from pathlib import Path
from typing import Any

from bridge.doctor.checks.identity import CHECK
from bridge.errors import BridgeError, NotFound
from bridge.kube.api import Object

from .given import NODE, UNKNOWN, Somewhere, judged, node


class Server:
    """Shows this Node, or none."""

    def __init__(self, shown: Object | None) -> None:
        self._shown = shown

    def node(self, name: str) -> Object:
        assert name == "compute1"
        if self._shown is None:
            raise NotFound("nodes compute1 not found")
        return self._shown


def _names(tmp_path: Path, shown: Object | None, slurm: str | Exception = NODE, boot_id: str = "") -> list[str]:
    place = Somewhere(tmp_path, Server(shown))
    place.says = {"scontrol show node": slurm}
    place.__dict__["boot_id"] = boot_id or node()["status"]["nodeInfo"]["bootID"]
    return judged(CHECK, CHECK.look(place))


def _changed(part: str, **changes: Any) -> Object:
    found = node()
    return found | {part: found[part] | changes}


def test_all_three_are_one(tmp_path: Path) -> None:
    assert _names(tmp_path, node()) == []
    assert _names(tmp_path, None) == ["node-none"]
    assert _names(tmp_path, node(), boot_id="another") == ["node-other"]
    assert _names(tmp_path, _changed("spec", taints=[])) == ["taint-missing"]
    soft = [{"key": "slurm-k8s-bridge/slurm", "effect": "PreferNoSchedule"}]
    assert _names(tmp_path, _changed("spec", taints=soft)) == ["taint-missing"]
    unready = [{"type": "Ready", "status": "False", "message": "container runtime is down"}]
    assert _names(tmp_path, _changed("status", conditions=unready)) == ["node-not-ready"]
    assert _names(tmp_path, node(), NODE.replace("NodeHostName=compute1", "NodeHostName=n7")) == ["slurm-host-other"]


def test_without_slurm_it_is_not_known(tmp_path: Path) -> None:
    assert _names(tmp_path, node(), BridgeError("no answer")) == [UNKNOWN + "slurm-unasked"]
    assert _names(tmp_path, None, "Node compute1 not found") == ["node-none", UNKNOWN + "slurm-unasked"]
