"""`python -m tests.chaos.shrink CONFIG JOURNAL RUN`: the fewest of a run's recorded events that still break what must
hold of any run.

CONFIG is the node's bridge.toml, JOURNAL a copy of its journal's folder, RUN as the journal writes it
(CLUSTER/JOB/RESTART). Where they break nothing, the core did what it should with what it was told, and the fault is at
the border.
"""

import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bridge.config import Config, load
from bridge.engine import events
from bridge.store.journal import Journal
from tests.unit.engine.holds import AT_ANY_TIME, Watched

Law = Callable[[Watched], None]


def complaint(config: Config, told: Iterable[events.Event], laws: Sequence[Law]) -> str:
    """What is broken first, and by which event; '' where nothing is."""
    one = Watched(config)
    for number, event in enumerate(told):
        try:
            one.tell(event)
            for law in laws:
                law(one)
        except AssertionError as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"{where.name}: {where.line}, with event {number} ({type(event).__name__})"
        except ValueError:
            return ""  # no run begins so: not what was recorded
    return ""


def shrunk(config: Config, told: Sequence[events.Event], laws: Sequence[Law]) -> list[events.Event]:
    """The same complaint from as few events as can be found by leaving out ever smaller parts."""
    kept = list(told)
    wanted = _of(complaint(config, kept, laws))
    size = len(kept) // 2
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if fewer and _of(complaint(config, fewer, laws)) == wanted:
                kept = fewer
            else:
                at += size
        size //= 2
    return kept


def _of(text: str) -> str:
    """Which law, whatever the event."""
    return text.partition(", with event")[0]


def main(config_file: str, journal_file: str, run: str) -> int:
    """Exit code 1 where something is broken."""
    config, journal = load(Path(config_file)), Journal(Path(journal_file))
    told = [events.from_json(line.body) for line in journal.lines() if line.run == run]
    if not told:
        print(f"no run {run} in {journal_file}", file=sys.stderr)
        return 64
    what = complaint(config, told, AT_ANY_TIME)
    if not what:
        print(f"{len(told)} events break nothing: look at the border, where they came from or where they led")
        return 0
    few = shrunk(config, told, AT_ANY_TIME)
    print(complaint(config, few, AT_ANY_TIME))
    for event in few:
        print(events.to_json(event).decode())
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
