"""What has been measured, kept by commit and figure: a bench that was interrupted goes on where it was."""

import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """One figure as it was measured. `load` is the machine's before and after: only ratios mean something under one."""

    figure: str
    columns: dict[str, list[float]]
    seconds: float
    load: tuple[float, float]


class Results:
    """One folder, a file for each figure."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, figure: str) -> Result | None:
        """None where it has not been measured, or not to its end."""
        try:
            found = json.loads(self._file(figure).read_text(encoding="utf-8"))
            return Result(**found | {"load": tuple(found["load"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, result: Result) -> None:
        """Whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self._file(result.figure).with_suffix(".new")
        new.write_text(json.dumps(asdict(result)), encoding="utf-8")
        new.replace(self._file(result.figure))

    def _file(self, figure: str) -> Path:
        return self.folder / f"{figure}.json"


def key(checkout: Path, *, quick: bool) -> str:
    """Name of the folder: the commit, what the checkout has changed since, and how much was measured."""
    commit = _git(checkout, "rev-parse", "HEAD").strip()[:12]
    changes = _git(checkout, "diff", "HEAD")
    changed = f"-{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else ""
    return f"{commit}{changed}{'-quick' if quick else ''}"


def _git(checkout: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", checkout, *words], check=True, capture_output=True, text=True).stdout
