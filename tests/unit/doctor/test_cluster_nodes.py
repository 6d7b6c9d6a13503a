"""Room beside DaemonSets."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bridge.doctor.check import CannotLook
from bridge.doctor.checks.cluster_nodes import CHECK, NodeRoom, Rooms, taken
from bridge.doctor.checks.resources import Amounts

from .given import Somewhere, judged, node


def _pod(owner: str, phase: str = "Running", where: str = "compute1", **requests: str) -> dict[str, Any]:
    metadata = {"name": "p", "ownerReferences": [{"kind": owner}]}
    spec = {"nodeName": where, "containers": [{"resources": {"requests": requests}}, {}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def test_only_what_is_always_there_counts() -> None:
    pods = [_pod("DaemonSet", cpu="100m", memory="1Gi"), _pod("Node", cpu="1", memory="1")]
    others = [_pod("PyTorchJob", cpu="2"), _pod("DaemonSet", where="n9", cpu="9"), _pod("DaemonSet", "Failed", cpu="9")]
    assert taken([*pods, *others], "compute1") == Amounts(Fraction(11, 10), 1025)
    with pytest.raises(CannotLook):
        taken([_pod("DaemonSet", cpu="much")], "compute1")


def test_the_largest_pod_has_to_fit_beside_it() -> None:
    most = {"pod": Amounts(Fraction(2), 4096)}
    free = Amounts(Fraction(3), 5000)

    def names(cpus: int, memory: int) -> list[str]:
        return judged(CHECK, Rooms((NodeRoom("n1", free, Amounts(Fraction(cpus), memory)),), most))

    assert names(1, 904) == []
    assert names(2, 0) == names(0, 905) == ["daemonsets-in-the-way"]
    assert judged(CHECK, Rooms((), most)) == ["nodes-untainted"]


def test_slurms_nodes_are_those_with_the_taint(tmp_path: Path) -> None:
    class Server:
        def pods(self) -> list[dict[str, Any]]:
            return [_pod("DaemonSet", cpu="1")]

        def nodes(self) -> list[dict[str, Any]]:
            return [node(), node() | {"metadata": {"name": "other"}, "spec": {}}]

    found = CHECK.look(Somewhere(tmp_path, Server()))
    assert [each.name for each in found.nodes] == ["compute1"] and found.nodes[0].taken.cpus == 1
    assert judged(CHECK, found) == ["daemonsets-in-the-way"]
