"""`python -m tests.mutants [NAME...]`: each slip in a copy of the checkout, and the unit tests of its rooms.

Exit code 1 where one is not noticed, or where the tests are not green without any.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.mutant import Mutant, listed

_ROOT = Path(__file__).parents[2]
_PYTEST = [sys.executable, "-m", "pytest", "--maxfail=5", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
_RED = (1, 2)  # of pytest: some failed; stopped by --maxfail where several processes share the tests
_SECONDS = 900
_TRIES = 3


def main(names: list[str]) -> int:
    """All mutants, or those that are named."""
    mutants = [mutant for mutant in listed() if not names or mutant.name in names]
    if unknown := set(names) - {mutant.name for mutant in mutants}:
        print(f"no such mutant: {', '.join(sorted(unknown))}; tests/mutants/list.toml has them", file=sys.stderr)
        return 64
    with tempfile.TemporaryDirectory() as folder:
        tree = _copied(Path(folder) / "checkout")
        rooms = sorted({room for mutant in mutants for room in mutant.rooms})
        print(f"without a slip: {', '.join(rooms)}", flush=True)
        code, output = _tested(tree, _folders(rooms))
        if code != 0:
            print(output)
            return 1
        missed = [mutant for mutant in mutants if not _noticed(tree, mutant)]
    print(f"{len(mutants) - len(missed)} of {len(mutants)} noticed")
    for mutant in missed:
        print(f"NOT NOTICED: {mutant.name} in {mutant.file}: {mutant.breaks}")
    return 1 if missed else 0


def _copied(tree: Path) -> Path:
    """What git knows of the checkout, as it is now."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        if (_ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_ROOT / name, tree / name)
    return tree


def _noticed(tree: Path, mutant: Mutant) -> bool:
    file, began = tree / mutant.file, time.monotonic()
    good, mode = file.read_text(encoding="utf-8"), file.stat().st_mode
    file.write_text(mutant.text(tree), encoding="utf-8")
    try:
        who = _who_notices(tree, mutant)
    finally:
        file.write_text(good, encoding="utf-8")
        file.chmod(mode)
    note = "" if who in ("", mutant.noticed_by) else " (its row names another, which did not)"
    print(f"{mutant.name}: {who or 'NOBODY'}{note}, {time.monotonic() - began:.0f} s", flush=True)
    return bool(who)


def _who_notices(tree: Path, mutant: Mutant) -> str:
    """The test of its row, or else the first of its rooms that is red, and red again alone: one that a busy machine has
    made late has noticed nothing. '' where there is none."""
    if _tested(tree, [mutant.noticed_by], processes=0)[0] in _RED:
        return mutant.noticed_by
    for _ in range(_TRIES):
        code, output = _tested(tree, _folders(mutant.rooms))
        if code not in _RED:
            return ""
        red: dict[str, None] = dict.fromkeys(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE))
        for name in red:
            if _tested(tree, [name], processes=0)[0] in _RED:
                return name
    return ""


def _folders(rooms: Iterable[str]) -> list[str]:
    return [f"tests/unit/{room}" for room in rooms]


def _tested(tree: Path, what: list[str], processes: int = 4) -> tuple[int, str]:
    """pytest's exit code, and what it printed. Most tests wait most of the time, so there are more processes than
    processors."""
    words = [*_PYTEST, "-n", str(processes), "-r", "fE", *what]
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=_SECONDS, check=False)
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
