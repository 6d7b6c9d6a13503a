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


def test_sqlite_is_told_to_sync_each_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two is FULL: in WAL mode, less than that leaves the last commits in the kernel's memory, and a power cut takes
    them (https://www.sqlite.org/pragma.html#pragma_synchronous)."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(path: Path, isolation_level: None, check_same_thread: bool) -> sqlite3.Connection:
        opened.append(connect(path, isolation_level=isolation_level, check_same_thread=check_same_thread))
        return opened[-1]

    monkeypatch.setattr("bridge.store.journal.sqlite3.connect", remembered)
    journal = Journal(tmp_path)
    journal.append([Line("a/1/0", b"one", 1.0)])
    asked = [opened[0].execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert (len(opened), asked) == (1, ["wal", 2])
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


def test_released_runs_are_forgotten_alone_and_all_or_none(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([Line(f"a/{number}/0", b"told", 1.0) for number in (1, 2, 3)])
    with pytest.raises(sqlite3.Error):
        journal.forget(["a/1/0", object()])  # type: ignore[list-item]
    assert [run for run, _ in lines(journal)] == ["a/1/0", "a/2/0", "a/3/0"]
    journal.forget(["a/1/0", "a/3/0"])
    assert lines(journal) == [("a/2/0", b"told")]
    journal.close()


def test_a_newer_schema_is_not_touched(tmp_path: Path) -> None:
    """Whatever that version may have made of its tables."""
    database = sqlite3.connect(tmp_path / FILE)
    database.executescript("CREATE TABLE meta (name TEXT, value TEXT); INSERT INTO meta VALUES ('schema', '99')")
    database.close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ConfigError) as refused:
        Journal(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path / FILE}: was written by a newer slurm-k8s-bridge (journal schema 99, this version reads 1); "
        "bridged does not start, hooks wait and the node's runs stay as they are [journal-newer]; "
        "install the newer version again"
    )
    assert (tmp_path / FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_sizes_of_runs(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([Line("a/1/0", b"one", 1.0), Line("a/2/0", b"three", 2.0), Line("a/1/0", b"two", 3.0)])
    assert journal.sizes() == {"a/1/0": (2, 6), "a/2/0": (1, 5)}
    journal.close()


def test_a_file_that_is_mostly_free_is_made_small_at_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.store.journal._FREE_LIMIT", 512 * 1024)
    journal = Journal(tmp_path)
    journal.append([Line("a/1/0", b"x" * 1024 * 1024, 1.0), Line("a/2/0", b"kept", 2.0)])
    journal.forget(["a/1/0"])
    journal.close()
    assert (tmp_path / FILE).stat().st_size > 1024 * 1024
    journal = Journal(tmp_path)
    assert lines(journal) == [("a/2/0", b"kept")]
    journal.close()
    assert (tmp_path / FILE).stat().st_size < 64 * 1024


def test_a_directory_that_is_not_ours_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(ConfigError, match="cannot be opened"):
        Journal(tmp_path)
