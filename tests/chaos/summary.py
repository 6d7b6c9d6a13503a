"""`python -m tests.chaos.summary [OUT [COMMIT…]]`: what the pieces of a long run come to, as a page of Markdown.

OUT is what `make chaos` wrote to; without it come those alone that were committed. Of several commits all are summed up
that are named; else the checkout's own.
"""

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .mixes import ENOUGH
from .piece import KEPT, commit, reports

Report = dict[str, Any]


def main() -> int:
    """Prints it."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.summary", description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", default=KEPT)
    parser.add_argument("commits", nargs="*")
    asked = parser.parse_args()
    found = [report for name in asked.commits or [commit()] for report in reports(asked.out, name)]
    print("\n".join(page(found)) if found else f"no report of these commits below {asked.out}")
    return 0 if found else 1


def page(found: list[Report]) -> Iterator[str]:
    """A table of the pieces, and one of what they have met."""
    yield "| commit | mix | seed | nodes | lifecycles | minutes | hooks | pods | drains | strikes | violations |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for report in found:
        yield _row(
            f"{report['commit']} | {report['mix']} | {report['seed']} | {report['nodes']}",
            report["lifecycles"],
            round(report["seconds"] / 60),
            *(report[name] for name in ("hooks", "pods", "drains")),
            sum(report["failpoints"].values()),
            len(report["violations"]),
        )
    whole = [sum(report[name] for report in found) for name in ("lifecycles", "seconds", "hooks", "pods", "drains")]
    whole[1] = round(whole[1] / 60)
    strikes = _summed(found, "failpoints")
    violations = sum(len(report["violations"]) for report in found)
    yield _row("all | | | ", *whole, sum(strikes.values()), violations)
    yield ""
    for title, name in (("Jobs", "kinds"), ("Their states", "states"), ("Faults", "faults"), ("What they met", "met")):
        yield f"- {title}: {_listed(_summed(found, name))}."
    yield f"- Failpoints: {_of_strikes(strikes)}"


def _row(first: str, *numbers: int) -> str:
    return f"| {first} | {' | '.join(f'{number:,}' for number in numbers)} |"


def _summed(found: list[Report], name: str) -> Counter[str]:
    whole = Counter[str]()
    for report in found:
        whole.update(report[name])
    return whole


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def _of_strikes(strikes: Counter[str]) -> str:
    counts = sorted(strikes.values())
    least = [f"{name} {count}" for name, count in sorted(strikes.items(), key=lambda item: item[1]) if count < ENOUGH]
    each = f"each struck {counts[0]:,} to {counts[-1]:,} times, the median {statistics.median(counts):,.0f}"
    rare = f" {len(least)} of them less than {ENOUGH} times: {', '.join(least)}." if least else ""
    return f"{len(counts)}, {each}.{rare}"


if __name__ == "__main__":
    sys.exit(main())
