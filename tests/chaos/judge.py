"""`python -m tests.chaos.judge OUT [COMMIT...]`: hold what pieces have seen against the laws as they are now.

A law that was wrong, or too narrow, is mended, and what was seen stays what it was. Each piece's report tells then what
is broken by these laws. Exit code 1 where something is.
"""

import argparse
import json
import pickle
import sys
from dataclasses import asdict
from pathlib import Path

from .laws import Violation, violations
from .piece import HISTORY, commit


def main() -> int:
    """Those of the commits that are named, or of the product as it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.judge", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("commits", nargs="*")
    asked = parser.parse_args()
    folders = [file.parent for of in asked.commits or [commit()] for file in asked.out.glob(f"{of}-*/{HISTORY}")]
    found = [violation for folder in sorted(folders) for violation in judged(folder)]
    print("\n".join(map(str, found)) if folders else f"nothing is kept of these commits below {asked.out}")
    return 1 if found or not folders else 0


def judged(folder: Path) -> list[Violation]:
    """Of one piece, whose report tells it from now on."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    found = violations(pickle.loads((folder / HISTORY).read_bytes()))
    print(f"{folder.name}: {len(report['violations'])} by the laws of then, {len(found)} by those of now")
    report["violations"] = [asdict(each) for each in found]
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.exit(main())
