"""A fixed share of `make chaos`: always the same seed, on the two nodes that there are."""

from pathlib import Path

import pytest

from tests.chaos.piece import run
from tests.chaos.plan import Kind, Pace

from .stack import Stack

_SEED = 1
_LIFECYCLES = 16
_PACE = Pace(faults=2.0, failpoints=10.0)  # where there are two nodes, not thirty: each job meets more, and CI waits
_STRIKES = 3  # of failpoints at least: which of them a run comes to in time is chance


@pytest.mark.timeout(900)
def test_whatever_fails_nothing_is_lost_left_or_held_twice(stack: Stack, tmp_path: Path) -> None:
    report = run(stack, _SEED, _LIFECYCLES, tmp_path, _PACE)
    print(report)
    assert report.violations == []
    assert sum(report.kinds.values()) == _LIFECYCLES and len(report.kinds) > len(Kind) // 2
    assert sum(report.faults.values()) >= _LIFECYCLES // 2
    assert sum(report.failpoints.values()) >= _STRIKES
