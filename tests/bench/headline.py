"""The five figures that a site asks for first: `python -m tests.bench.headline README.md` writes them into README.md.

They are medians of the last bench that was kept, as docs/reference/performance.md has them.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .arithmetic import column
from .page import LAST
from .table import number

_FIVE = (
    (
        "each hook of a job that is not ours",
        "{foreign-hooks/prolog} and {foreign-hooks/epilog} ms",
        "{foreign-hooks/empty hook} ms of an empty `#!/bin/sh`",
    ),
    (
        "prolog of a job of ours on one node, from the create to its exit",
        "{prolog-1/ours, create to exit} s",
        "{prolog-1/floor} s of Kubernetes itself, {prolog-1/kubectl} s of `kubectl apply` and `kubectl wait`",
    ),
    (
        "what is the bridge's behind the last pod, at a prolog's end and at a release",
        "{own-share/prolog, batch node} and {own-share/release} ms",
        "{own-share/two watchers apart} ms between two watchers of the same pod",
    ),
    (
        "requests + watches of a run at the API server (batch node, each other node); requests at slurmctld",
        "{requests/batch node} + {requests/batch node, watch} and {requests/other node} + {requests/other node, watch};"
        " {slurmctld/ours}",
        "{requests/kubectl} + {requests/kubectl, watch} of kubectl for a run of two nodes;"
        " {slurmctld/a prolog that asks once a second} of a prolog that asks every second",
    ),
    (
        "the daemon: memory, processor while idle, back after `kill -9` with 1,000 runs",
        "{memory/after the last run} MB, {cpu/idle, a second} ms a second, {recovery/ready, 1000 runs} s",
        "{recovery/its libraries imported, alone} s for Python and its libraries",
    ),
)
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def block(document: Mapping[str, Any]) -> str:
    """The table with its marks."""
    return "\n".join([BEGIN, *_rows(document), END])


def _rows(document: Mapping[str, Any]) -> Iterator[str]:
    yield "| what a site asks | measured | beside it, in the same run |\n|---|---|---|"
    for asked, measured, beside in _FIVE:
        yield f"| {asked} | {_filled(document, measured)} | {_filled(document, beside)} |"


def _filled(document: Mapping[str, Any], text: str) -> str:
    """With the median in place of each `{figure/column}`."""

    def median(place: re.Match[str]) -> str:
        found = column(document, *place[1].split("/"))
        return "open" if found is None else number(found)

    return re.sub(r"\{([^}]+)\}", median, text)


def main() -> None:
    """Write the table between its marks in the file that is named."""
    file = Path(sys.argv[1])
    head, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    document = json.loads(LAST.read_text(encoding="utf-8"))
    file.write_text(f"{head}{block(document)}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
