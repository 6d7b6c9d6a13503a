"""After a start: the journal replayed. Replay equals memory, because `next_run` is all that ever changes a run."""

import structlog
from pydantic import ValidationError

from bridge.config import Config
from bridge.engine import events
from bridge.engine.machine import next_run
from bridge.engine.state import Run
from bridge.errors import ConfigError
from bridge.job.ids import RunKey
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
            runs[key] = next_run(config, runs.get(key), events.from_json(line.body))
        except (ValidationError, ValueError) as error:
            raise ConfigError(
                f"the journal has a line of run {key} that this version cannot read, so it was written by another one; "
                "bridged does not start, hooks wait and the node's runs stay as they are; "
                f"install the version that ran here last: {error}"
            ) from error
    return runs
