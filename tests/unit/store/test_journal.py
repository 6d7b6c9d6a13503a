"""The journal survives what it is for."""

import sqlite3
from pathlib import Path

import pytest

from bridge.errors import ConfigError
from bridge.store.journal import FILE, Journal, Line


def lines(journal: Journal) -> list[tuple[str, bytes]]:
    """What is in it."""
    return [(line.run, line.body) for line in journal.lines()]


def test_lines_come_back_in_order_after_reopening(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([Line("a/1/0", b"one", 1.0), Line("a/2/0", b"two", 2.0)])
    journal.append([Line("a/1/0", b"three", 3.0)])
    # Not closed: a killed daemon does not close its journal either.
    again = Journal(tmp_path)
    assert lines(again) == [("a/1/0", b"one"), ("a/2/0", b"two"), ("a/1/0", b"three")]
    again.close()
    journal.close()


def test_a_batch_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([Line("a/1/0", b"kept", 1.0)])
    with pytest.raises(sqlite3.Error):
        journal.append([Line("a/1/0", b"lost", 2.0), Line(None, b"bad", 2.0)])  # type: ignore[arg-type]
    assert lines(journal) == [("a/1/0", b"kept")]
    journal.append([Line("a/1/0", b"later", 3.0)])
    assert len(lines(journal)) == 2
    journal.close()


def test_a_released_run_is_forgotten_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([Line("a/1/0", b"one", 1.0), Line("a/2/0", b"two", 2.0)])
    journal.forget("a/1/0")
    assert lines(journal) == [("a/2/0", b"two")]
    journal.close()


def test_a_newer_schema_is_not_touched(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.set_note("schema", "99")
    journal.close()
    with pytest.raises(ConfigError, match="schema 99"):
        Journal(tmp_path)


def test_a_directory_that_is_not_ours_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(ConfigError, match="cannot be opened"):
        Journal(tmp_path)
