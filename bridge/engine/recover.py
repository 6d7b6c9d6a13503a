"""After a start: the journal replayed. Replay equals memory, because `next_run` is all that ever changes a run."""

import structlog
from pydantic import ValidationError

from bridge.config import Config
from bridge.engine import events
from bridge.engine.machine import next_run
from bridge.engine.state import Phase, Run
from bridge.errors import ConfigError
from bridge.job.ids import RunKey
from bridge.messages.bridged import JOURNAL_UNREAD
from bridge.store.journal import Journal

log = structlog.get_logger()


def key_text(key: RunKey) -> str:
    """A run's key as the journal writes it."""
    return f"{key.cluster}/{key.job_id}/{key.restart}"


def key_of(text: str) -> RunKey:
    """The key that `key_text` wrote."""
    cluster, job_id, restart = text.rsplit("/", 2)
    return RunKey(cluster, int(job_id), int(restart))


def replayed(config: Config, journal: Journal) -> dict[RunKey, Run]:
    """Every run in the journal as it was when its last line was written.

    Raises ConfigError when a line cannot be read: going on without it might forget a live run.
    """
    runs: dict[RunKey, Run] = {}
    for line in journal.lines():
        key = key_of(line.run)
        try:
            before = runs.get(key)
            remember(runs, before, next_run(config, before, events.from_json(line.body)))
        except (ValidationError, ValueError) as error:
            raise ConfigError(JOURNAL_UNREAD.sentence(run=key, why=error)) from error
    return runs


def remember(runs: dict[RunKey, Run], before: Run | None, after: Run) -> None:
    """Put a changed run among the others; the released ones stand in the order of their release."""
    if before is not None and before.phase is not after.phase and after.phase is Phase.RELEASED:
        del runs[before.key]
    runs[after.key] = after
