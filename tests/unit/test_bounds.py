"""docs/reference/bounds.md is true: each value is the code's, and each bound has a test that crosses it."""

import importlib
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DOCUMENT = TESTS.parents[1] / "docs" / "reference" / "bounds.md"
_UNITS = {"KiB": 1024, "MiB": 1024 * 1024}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and "`" in line
]


def value_of(name: str) -> object:
    """What the code has under this name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part, None)
        return found
    return None


def number(text: str) -> float | None:
    """``64 MiB`` or ``1,000`` as a number; None for words."""
    match = re.fullmatch(r"([\d,]+)(?: (KiB|MiB))?", text)
    return float(match[1].replace(",", "")) * _UNITS.get(match[2], 1) if match else None


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_bound_is_what_the_table_says_and_is_tested(row: list[str]) -> None:
    _, bound, where, beyond, test = row
    expected = number(bound)
    if expected is not None:
        assert value_of(where.strip("`")) == expected
    assert beyond
    file, _, name = test.strip("`").partition("::")
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")


def test_the_table_is_read() -> None:
    assert len(ROWS) > 40
