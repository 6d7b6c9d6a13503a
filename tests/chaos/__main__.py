"""`python -m tests.chaos --seed N --lifecycles N`: on the stack of this checkout, which is started if it is not up.

A run that this product has behind it already is not done again. Exit code 1 where a law was broken. What happened goes
to a folder of OUT, and what a person needs to understand it.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from . import leaving
from .mixes import MIXES, USUAL
from .piece import commit, reports, run
from .summary import page
from .taking import taken


def main() -> int:
    """One piece, by one seed."""
    leaving.heed()
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lifecycles", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mix", choices=MIXES, default=USUAL.name, help="of jobs, faults and failpoints (mixes.py)")
    parser.add_argument("--faults", type=float, help="seconds between two, on average; the mix has its own")
    parser.add_argument("--failpoints", type=float, help="the same, on each node")
    asked = parser.parse_args()
    product, mix = commit(), MIXES[asked.mix]
    own = {name: getattr(asked, name) for name in ("faults", "failpoints") if getattr(asked, name) is not None}
    pace = replace(mix.pace, **own)
    wanted = {"mix": mix.name, "seed": asked.seed, "lifecycles": asked.lifecycles}
    if not any(wanted.items() <= done.items() for done in reports(asked.out, product)):
        with taken() as stack:
            print(run(stack, asked.seed, asked.lifecycles, asked.out, pace, product, mix), flush=True)
    done = reports(asked.out, product)
    print("\n".join(page(done)))
    return 1 if any(report["violations"] for report in done) else 0


if __name__ == "__main__":
    sys.exit(main())
