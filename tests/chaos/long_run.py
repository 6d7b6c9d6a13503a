"""`python -m tests.chaos.long_run`: piece by piece until 10,000 lifecycles are through and each failpoint has struck a
hundred times, on the stack of this checkout.

Each piece has a mix, a seed of its own and a report. Those that this product has behind it are not done again, nor on
another machine if their reports are committed: what was interrupted goes on where it was. Exit code 1 as soon as a law
was broken; what a person needs to understand it is in the piece's folder of OUT then.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.failpoints.listed import names, place_of

from . import leaving
from .mixes import ENOUGH, MIXES, USUAL
from .piece import commit, reports, run
from .plan import Mix
from .summary import page
from .taking import taken

LIFECYCLES = 10_000
_PIECE = 1000  # which no mix needs an hour for
_GOES_NO_FURTHER = (
    "the run goes no further: mix {mix}, seed {seed} broke a law, and its folder below {out} has what happened. Where "
    "the product is mended, its commit begins a run of its own; where the law is: python -m tests.chaos.judge {out}"
)


def main() -> int:
    """Until the run is whole."""
    leaving.heed()
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.long_run", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="at least; each piece has its own, above those that count")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    product = commit()  # which is not asked again: the checkout may go on
    while (mix := next_mix(done := reports(asked.out, product))) and not any(map(_broken, done)):
        leaving.leave_if_asked()
        seed = max([asked.seed, *(report["seed"] + 1 for report in done)])
        print(f"\n{_PIECE} lifecycles of the mix {mix.name}, seed {seed}", flush=True)
        with taken() as stack:
            print(run(stack, seed, _PIECE, asked.out, product=product, mix=mix), flush=True)
    print("\n".join(page(done)))
    for report in filter(_broken, done):
        print(_GOES_NO_FURTHER.format(**report, out=asked.out))
    return 1 if any(map(_broken, done)) else 0


def next_mix(done: list[dict[str, Any]]) -> Mix | None:
    """Of which a piece comes next: the one that is most behind of those that still have something to do. The usual one
    has as long as lifecycles are missing; each place is sought by another."""
    strikes = sum((Counter(report["failpoints"]) for report in done), Counter[str]())
    rare = {place_of(name) for name in names() if strikes[name] < ENOUGH}
    lifecycles = Counter[str]()
    for report in done:
        lifecycles[report["mix"]] += report["lifecycles"]
    wanted = [USUAL] if lifecycles.total() < LIFECYCLES else []
    wanted += [mix for mix in MIXES.values() if mix.seeks & rare]
    return min(wanted, key=lambda mix: lifecycles[mix.name], default=None)


def _broken(report: dict[str, Any]) -> bool:
    return bool(report["violations"])


if __name__ == "__main__":
    sys.exit(main())
