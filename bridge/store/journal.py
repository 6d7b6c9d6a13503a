"""The journal: every event of every run, appended and synced before anything is done about it.

One SQLite file, WAL, synchronous=FULL: a commit survives a power cut. Nothing is ever rewritten; the
events of a released run are removed after a while.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bridge.errors import ConfigError
from bridge.messages.bridged import JOURNAL_NEWER, JOURNAL_UNOPENED

SCHEMA = 1  # raised only when an older daemon must not touch the file; new events and fields do not raise it
FILE = "journal.sqlite"
_FREE_LIMIT = 64 * 1024 * 1024  # bytes of free pages that the file may keep over a start

_CREATE = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    wall REAL NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS event_run ON event (run, number);
"""


@dataclass(frozen=True)
class Line:
    """One event: which run, its JSON, and the wall clock when it was written (for people only)."""

    run: str
    body: bytes
    wall: float


class Journal:
    """The journal of one node. Used by one thread, the engine's."""

    def __init__(self, directory: Path) -> None:
        """Open or make the journal; raises ConfigError when the directory cannot be used."""
        path = directory / FILE
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._check_schema(path)  # first: of a newer version's journal not a byte may change
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.executescript(_CREATE)
            self.set_note("schema", str(SCHEMA))
            self._give_back_room()
        except sqlite3.Error as error:
            raise ConfigError(JOURNAL_UNOPENED.sentence(path=path, why=error)) from error

    def append(self, lines: Iterable[Line]) -> None:
        """Write these lines in one synced transaction. Raises sqlite3.Error: the daemon must stop then."""
        rows = [(line.run, line.wall, line.body) for line in lines]
        self._transact("INSERT INTO event (run, wall, body) VALUES (?, ?, ?)", rows)

    def lines(self) -> Iterator[Line]:
        """Every line, in the order of writing."""
        for run, wall, body in self._db.execute("SELECT run, wall, body FROM event ORDER BY number"):
            yield Line(run, body, wall)

    def sizes(self) -> dict[str, tuple[int, int]]:
        """How many lines, and how many bytes of JSON, each run has."""
        rows = self._db.execute("SELECT run, COUNT(*), SUM(LENGTH(body)) FROM event GROUP BY run")
        return {run: (count, size) for run, count, size in rows}

    def forget(self, runs: Iterable[str]) -> None:
        """Remove the events of released runs, in one transaction. Raises sqlite3.Error."""
        self._transact("DELETE FROM event WHERE run = ?", [(run,) for run in runs])

    def note(self, name: str, default: str) -> str:
        """A single value kept beside the events: the stored one, or the default."""
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return default if row is None else str(row[0])

    def set_note(self, name: str, value: str) -> None:
        """Keep a single value."""
        self._db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _transact(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """One statement for each of these rows, all or none."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany(statement, rows)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _check_schema(self, path: Path) -> None:
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            return
        found = self.note("schema", str(SCHEMA))
        if found != str(SCHEMA):
            self._db.close()
            raise ConfigError(JOURNAL_NEWER.sentence(path=path, found=found, known=SCHEMA))

    def _give_back_room(self) -> None:
        """Shrink a file that is mostly free pages: what a bad day wrote and later days have forgotten."""
        (free,), (size,) = (self._db.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_size"))
        if free * size > _FREE_LIMIT:
            self._db.execute("VACUUM")
