"""How often each failpoint strikes where it is tested alone: once, or as often as `make strikes` asks for."""

import os
from collections.abc import Iterator

_TIMES = int(os.environ.get("STRIKES", "0"))


def each_time(failpoint: object) -> Iterator[str]:
    """A name for each of its tests. One that hangs is struck only where all are struck often: its twelve seconds are
    more than there is to wait for in the tests of a change."""
    if not _TIMES and not str(failpoint).startswith("hang"):
        yield str(failpoint)
    for time in range(_TIMES):
        yield f"{failpoint}-{time}"
