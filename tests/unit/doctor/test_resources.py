"""Both sides' amounts."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from bridge.doctor.check import CannotLook
from bridge.doctor.checks.resources import CHECK, Amounts, Resources, allocatable, largest_pods

from .given import NODE, SLURM_NODE, UNKNOWN, Somewhere, judged, node, site

GOOD = Resources(Amounts(Fraction(2), 20_000, 2), "nvidia.com/gpu", {"pod": Amounts(Fraction(2), 4096)}, SLURM_NODE)


class Server:
    def node(self, _name: str) -> object:
        return node()


def test_both_sides_of_the_stack_agree(tmp_path: Path) -> None:
    place = Somewhere(tmp_path, Server())
    place.says = {"scontrol show node": NODE}
    found = CHECK.look(place)
    assert found.allocatable.gpus == 2 and found.allocatable.cpus == 2 and found.allocatable.memory > 4096
    assert found.slurm is not None and (found.slurm.cpus, found.slurm.memory, found.slurm.gpus) == (2, 6000, 2)
    assert judged(CHECK, found) == []


def test_where_they_differ() -> None:
    assert SLURM_NODE is not None
    assert judged(CHECK, replace(GOOD, allocatable=Amounts(Fraction(2), 20_000, 1))) == ["gpus-differ"]
    assert judged(CHECK, replace(GOOD, slurm=replace(SLURM_NODE, gpus=0))) == ["gpus-differ"], "more in Kubernetes"
    assert judged(CHECK, replace(GOOD, allocatable=Amounts(Fraction(19, 10), 20_000, 2))) == ["cpus-too-many"]
    assert judged(CHECK, replace(GOOD, allocatable=Amounts(Fraction(2), 4095, 2))) == ["memory-too-much"]
    assert judged(CHECK, replace(GOOD, slurm=replace(SLURM_NODE, memory=9000))) == ["bounds-low"]
    assert judged(CHECK, replace(GOOD, slurm=None, unasked="away")) == [UNKNOWN + "slurm-unasked"]


def test_every_section_counts() -> None:
    config = site(profiles={"big": {"max_cpus": 200}})
    assert largest_pods(config) == {"pod": Amounts(Fraction(2), 4096), "profiles.big": Amounts(Fraction(200), 4096)}
    assert judged(CHECK, replace(GOOD, most=largest_pods(config))) == ["cpus-too-many"]


def test_what_is_no_quantity_is_not_known() -> None:
    with pytest.raises(CannotLook):
        allocatable({"metadata": {}, "status": {"allocatable": {"cpu": "many", "memory": "1Gi"}}}, site())
    with pytest.raises(CannotLook):
        allocatable({"metadata": {}}, site())
