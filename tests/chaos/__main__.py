"""`python -m tests.chaos --seed N --lifecycles N`: on the stack of this checkout, which is started if it is not up.

Exit code 1 where a law was broken. What happened goes to a folder of OUT, and what a person needs to understand it.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.integration.stack import STACK, Stack

from .piece import Pace, run


def main() -> int:
    """One piece."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--lifecycles", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--faults", type=float, default=Pace.faults, help="seconds between two, on average")
    parser.add_argument("--failpoints", type=float, default=Pace.failpoints, help="the same, on each node")
    asked = parser.parse_args()
    subprocess.run([STACK, "up"], check=True, stdout=sys.stderr)
    stack = Stack(Stack.describe())
    stack.make_clean()
    report = run(stack, asked.seed, asked.lifecycles, asked.out, Pace(asked.faults, asked.failpoints))
    print(report)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
