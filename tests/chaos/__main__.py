"""`python -m tests.chaos --seed N --lifecycles N`: on the stack of this checkout, which is started if it is not up.

Many lifecycles are done in pieces, each by a seed of its own. Pieces that this product has behind it already are not
done again: a run that was interrupted goes on where it was. Exit code 1 where a law was broken. What happened goes to a
folder of OUT for each piece, and what a person needs to understand it.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.integration.stack import STACK, Stack

from .mixes import MIXES, USUAL
from .piece import Pace, commit, reports, run
from .summary import page


def main() -> int:
    """All pieces, one after the other."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the stack is put back as it was
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="of the first piece; the next one has the next")
    parser.add_argument("--lifecycles", type=int, required=True)
    parser.add_argument("--piece", type=int, default=1000, help="lifecycles of a piece")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mix", choices=MIXES, default=USUAL.name, help="of jobs, faults and failpoints (mixes.py)")
    parser.add_argument("--faults", type=float, default=Pace.faults, help="seconds between two, on average")
    parser.add_argument("--failpoints", type=float, default=Pace.failpoints, help="the same, on each node")
    asked = parser.parse_args()
    subprocess.run([STACK, "up"], check=True, stdout=sys.stderr)
    stack, product = Stack(Stack.describe()), commit()  # which a piece does not ask again: the checkout may go on
    pace, mix = Pace(asked.faults, asked.failpoints), MIXES[asked.mix]
    for seed, lifecycles in pieces(asked.seed, asked.lifecycles, asked.piece):
        wanted = {"mix": mix.name, "seed": seed, "lifecycles": lifecycles}
        if any(wanted.items() <= done.items() for done in reports(asked.out, product)):
            continue
        stack.make_clean()
        try:
            print(run(stack, seed, lifecycles, asked.out, pace, product, mix), flush=True)
        except (KeyboardInterrupt, SystemExit):
            stack.make_clean()  # the next one waits for nodes that are in service
            raise
    done = reports(asked.out, product)
    print("\n".join(page(done)))
    return 1 if any(report["violations"] for report in done) else 0


def pieces(seed: int, lifecycles: int, most: int) -> Iterator[tuple[int, int]]:
    """Seed and lifecycles of each."""
    for first in range(0, lifecycles, most):
        yield seed, min(most, lifecycles - first)
        seed += 1


if __name__ == "__main__":
    sys.exit(main())
