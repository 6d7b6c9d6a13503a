"""A daemon of this version takes up what an older one has written, and says no to what a newer one has."""

import sqlite3
from pathlib import Path

import pytest

from bridge.engine import events
from bridge.engine.recover import key_text, replayed
from bridge.engine.state import Phase, Run
from bridge.job.ids import RunKey
from bridge.store.journal import FILE, Journal

from .story import CONFIG

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.sql"))


def recorded(record: Path, directory: Path) -> dict[RunKey, Run]:
    """The runs that this version makes of a recorded journal."""
    database = sqlite3.connect(directory / FILE)
    database.executescript(record.read_text(encoding="utf-8"))
    database.close()
    journal = Journal(directory)
    runs = replayed(CONFIG, journal)
    journal.close()
    return runs


def words(run: Run) -> tuple[str, int | None, str, set[str]]:
    """What may on no account be lost: where it stands, what its prolog was told, its gate, and what may be alive."""
    told = None if run.prolog_answer is None else run.prolog_answer.exit
    return run.phase.value, told, run.opened, set(run.known_uids)


def test_every_run_of_the_first_version_is_taken_up(tmp_path: Path) -> None:
    """See `record.py` for their stories."""
    runs = recorded(RECORDED[0], tmp_path)
    assert {key_text(key): words(run) for key, run in runs.items()} == {
        "demo/7/0": ("released", 0, "pod-0", {"pod-0"}),
        "demo/8/0": ("running", 0, "pod-1", {"pod-1"}),
        "demo/9/1": ("prolog", None, "pod-0", {"pod-0"}),
        "demo/10/0": ("running", 0, "", set()),
        "demo/11/0": ("running", 1, "", set()),
        "demo/12/0": ("release", None, "", {"pod-of-12"}),
        "demo/13/0": ("running", 0, "", set()),
        "demo/14/0": ("running", 0, "", set()),
        "demo/15/0": ("release", 0, "", set()),
    }
    assert {key.job_id for key, run in runs.items() if run.consent} == {8, 9}
    assert {key.job_id for key, run in runs.items() if run.workload_uid} == {7, 8, 9, 14}
    assert [key.job_id for key, run in runs.items() if run.epilog_answer] == [15]


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record.stem)
def test_every_recorded_journal_is_read(record: Path, tmp_path: Path) -> None:
    assert {run.phase for run in recorded(record, tmp_path).values()} == set(Phase)


@pytest.mark.parametrize("field", ["of_the_future", "note"])
def test_a_field_that_a_newer_version_added_is_left_out(field: str) -> None:
    assert events.from_json(f'{{"at": 1.0, "{field}": [1], "kind": "ticked"}}'.encode()) == events.Ticked(1.0)
