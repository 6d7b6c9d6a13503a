"""What the long run's report says is what its pieces have seen."""

import pytest

from tests.chaos.long_run import next_mix
from tests.chaos.piece import KEPT, reports
from tests.chaos.summary import page

REPORT = (KEPT.parent / "REPORT.md").read_text()
COMMITS = sorted({file.name.partition("-")[0] for file in KEPT.glob("*.json")})


@pytest.mark.parametrize("commit", COMMITS)
def test_the_table_is_what_the_pieces_come_to(commit: str) -> None:
    assert "\n".join(page(reports(KEPT, commit))) in REPORT


def test_no_piece_broke_a_law() -> None:
    assert [report["violations"] for name in COMMITS for report in reports(KEPT, name) if report["violations"]] == []


@pytest.mark.parametrize("commit", COMMITS)
def test_it_says_whether_the_run_is_whole(commit: str) -> None:
    assert (f"**The run is whole.** {_lifecycles(commit):,} lifecycles on {commit}," in REPORT) == (
        next_mix(reports(KEPT, commit)) is None
    )


def _lifecycles(commit: str) -> int:
    return sum(int(report["lifecycles"]) for report in reports(KEPT, commit))
