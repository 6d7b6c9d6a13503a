"""A slip: which line becomes which, what it breaks, and who has to notice."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

_LIST = Path(__file__).parent / "list.toml"


@dataclass(frozen=True)
class Mutant:
    """``breaks`` says what would be wrong; ``rooms`` are folders of tests/unit. ``noticed_by`` is the test that noticed
    it last, by pytest's name."""

    name: str
    breaks: str
    file: str
    old: str
    new: str
    rooms: tuple[str, ...]
    noticed_by: str

    def text(self, root: Path) -> str:
        """The file with the slip in it. Raises ValueError where the line is not there, or more than once."""
        good = (root / self.file).read_text(encoding="utf-8")
        if good.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.file} has its line {good.count(self.old)} times, not once")
        return good.replace(self.old, self.new)


def listed() -> list[Mutant]:
    """All of them, in the order of the laws."""
    rows = tomllib.loads(_LIST.read_text(encoding="utf-8"))["mutant"]
    return [Mutant(**{**row, "rooms": tuple(row["rooms"])}) for row in rows]
