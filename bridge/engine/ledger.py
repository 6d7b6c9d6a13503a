"""What of a run's story is written down, and how much that has become: the journal's bounds.

A run may tell without end: a pod that comes and goes, an API server that fails every five seconds for a weekend. Past
`LINES` only what lasts is written. The rest is told again after a restart, by the watches and by the next failure.
"""

from collections.abc import Iterable

from bridge import clock
from bridge.engine import events
from bridge.engine.recover import key_text
from bridge.engine.replacing import replace
from bridge.engine.state import Run
from bridge.job.ids import RunKey
from bridge.store.journal import Journal, Line

LINES = 1000  # of one run; a run has some thirty
LINES_PER_NODE = 50  # beside them: the batch node is told of every pod some ten times
KEPT_RUNS = 200  # released ones kept for `bridgectl show`
KEPT_BYTES = 64 * 1024 * 1024  # of their lines; a spec alone may have 1.4 MB


class Ledger:
    """The engine's pen: it knows how many lines and bytes each run has without asking the file."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lines: list[Line] = []
        self._sizes = journal.sizes()

    def enter(self, before: Run | None, after: Run, event: events.Event) -> None:
        """Write this event with the next `commit`, unless the run has told too much and this will not be missed."""
        run = key_text(after.key)
        count, size = self._sizes.get(run, (0, 0))
        if count >= LINES + LINES_PER_NODE * len(after.nodes) and before is not None and not _lasts(before, after):
            return
        line = Line(run, events.to_json(event), clock.wall())
        self._lines.append(line)
        self._sizes[run] = count + 1, size + len(line.body)

    def commit(self) -> None:
        """Everything entered is safe when this returns. Raises sqlite3.Error: the daemon must stop then."""
        if self._lines:
            self._journal.append(self._lines)
            self._lines = []

    def forget(self, *keys: RunKey) -> None:
        """Nothing of these runs is needed any more."""
        runs = [key_text(key) for key in keys]
        self._journal.forget(runs)
        for run in runs:
            self._sizes.pop(run, None)

    def surplus(self, released: Iterable[RunKey]) -> list[RunKey]:
        """Which of these runs, in the order of their release, are one too many."""
        keys = list(released)
        sizes = [self._sizes.get(key_text(key), (0, 0))[1] for key in keys]
        gone, total = 0, sum(sizes)
        while len(keys) - gone > KEPT_RUNS or (total > KEPT_BYTES and gone < len(keys)):
            total -= sizes[gone]
            gone += 1
        return keys[:gone]


def _lasts(before: Run, after: Run) -> bool:
    return _lasting(before) != _lasting(after)


def _lasting(run: Run) -> Run:
    """Without what a watch, a scan or the next failure tells again."""
    run = replace(run, pods={}, lost=frozenset(), suspicions={}, leftovers=())
    return replace(run, tries={}, trouble="", trouble_fault="", untold="")
