"""Journals of daemons that are old."""

from contextlib import closing
from pathlib import Path

from bridge.engine.ledger import KEPT_RUNS, Ledger
from bridge.engine.recover import replayed
from bridge.engine.state import Phase
from bridge.store.journal import Journal
from tests.chaos.kept import fill
from tests.unit.engine.story import CONFIG


def test_one_run_more_is_one_too_many(tmp_path: Path) -> None:
    fill(tmp_path, "demo")
    with closing(Journal(tmp_path)) as journal:
        runs = replayed(CONFIG, journal)
        assert len(runs) == KEPT_RUNS and {run.phase for run in runs.values()} == {Phase.RELEASED}
        oldest, *others = runs
        assert Ledger(journal).surplus(runs) == []
        assert Ledger(journal).surplus([oldest, *others, others[0]]) == [oldest]
