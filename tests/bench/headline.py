"""The five figures that a site asks for first, in README.md: `python -m tests.bench.headline README.md` writes them there.

They are medians of the last bench that was kept, as docs/reference/performance.md has them.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .arithmetic import column
from .page import LAST
from .table import number

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def block(document: Mapping[str, Any]) -> str:
    """The table with its marks."""
    return "\n".join([BEGIN, *_rows(document), END])


def _rows(document: Mapping[str, Any]) -> Iterator[str]:
    def of(figure: str, name: str) -> str:
        found = column(document, figure, name)
        return "open" if found is None else number(found)

    yield "| what a site asks | measured | beside it, in the same run |\n|---|---|---|"
    hooks = [of("foreign-hooks", name) for name in ("prolog", "epilog", "empty hook")]
    yield f"| each hook of a job that is not ours | {hooks[0]} and {hooks[1]} ms | {hooks[2]} ms of an empty `#!/bin/sh` |"
    prolog = [of("prolog-1", name) for name in ("ours, create to exit", "floor", "kubectl")]
    yield (
        f"| prolog of a job of ours on one node, from the create to its exit | {prolog[0]} s | {prolog[1]} s of Kubernetes"
        f" itself, {prolog[2]} s of `kubectl apply` and `kubectl wait` |"
    )
    share, release = of("own-share", "prolog, batch node"), of("own-share", "release")
    yield f"| what is the bridge's behind the last pod: at a prolog's end, at a release | {share} ms, {release} ms | 0 |"
    asked = [of("requests", name) for name in ("batch node", "other node", "kubectl")]
    rpcs, polls = of("slurmctld", "ours"), of("slurmctld", "a prolog that asks once a second")
    yield (
        f"| requests of a run at the API server: batch node, each other node; RPCs at slurmctld | {asked[0]}, {asked[1]};"
        f" {rpcs} | {asked[2]} of kubectl on each node; {polls} of a prolog that asks every second |"
    )
    memory, idle = of("memory", "after the last run"), of("cpu", "idle, a second")
    ready, alone = (of("recovery", name) for name in ("ready, 1000 runs, 100 live", "its libraries imported, alone"))
    yield (
        f"| the daemon: memory, processor while idle, back after `kill -9` with 1,000 runs, 100 of them alive | {memory} MB,"
        f" {idle} ms a second, {ready} s | {alone} s for Python and libraries |"
    )


def main() -> None:
    """Write the table between its marks in the file that is named."""
    file = Path(sys.argv[1])
    head, _, rest = file.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    document = json.loads(LAST.read_text(encoding="utf-8"))
    file.write_text(f"{head}{block(document)}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
