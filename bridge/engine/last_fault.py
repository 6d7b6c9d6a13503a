"""Why this node was taken out of service last: kept past the run, until a pod has started here again."""

import json
from dataclasses import asdict, dataclass

from bridge import clock
from bridge.store.journal import Journal

_NOTE = "last_fault"


@dataclass(frozen=True)
class Fault:
    """A hook was told exit 1: which job's, in which phase, why, and when (seconds since the epoch)."""

    job: int
    phase: str
    sentence: str
    at: float


class LastFault:
    """Belongs to the engine's thread, as the journal does; ``told`` may be read by others."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        note = json.loads(journal.note(_NOTE, "null"))
        self.told: Fault | None = None if note is None else Fault(**note)

    def failed(self, job: int, phase: str, sentence: str) -> None:
        """A hook is about to be told exit 1. What fails in the same job's epilog is only what came of the cause."""
        if self.told is None or self.told.job != job:
            self._keep(Fault(job, phase, sentence, clock.wall()))

    def works(self) -> None:
        """A pod has started here."""
        if self.told is not None:
            self._keep(None)

    def _keep(self, fault: Fault | None) -> None:
        self.told = fault
        self._journal.set_note(_NOTE, json.dumps(None if fault is None else asdict(fault)))
