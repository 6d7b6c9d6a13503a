"""A fixed share of `make chaos`: always the same seed, on the two nodes that there are."""

from pathlib import Path

from tests.chaos.piece import run
from tests.chaos.plan import Kind

from .stack import Stack

_SEED = 1
_LIFECYCLES = 40


def test_whatever_fails_nothing_is_lost_left_or_held_twice(stack: Stack, tmp_path: Path) -> None:
    report = run(stack, _SEED, _LIFECYCLES, tmp_path)
    assert report.violations == []
    assert report.lifecycles == _LIFECYCLES and report.kinds.keys() > {Kind.SUCCESS.value, Kind.CANCEL.value}
    assert sum(report.faults.values()) > _LIFECYCLES and sum(report.failpoints.values()) > _LIFECYCLES
