"""SECURITY.md says nothing that no test shows."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
DOCUMENT = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")
CLAIMS = DOCUMENT[DOCUMENT.index("## What holds") :]
ROWS = re.findall(r"^\| (?!\|)([^|-][^|]*) \|(.*)\|$", CLAIMS, re.MULTILINE)
ROWS = [(line, rest) for line, rest in ROWS if line != "they believe"]


@pytest.mark.parametrize(("line", "rest"), ROWS, ids=[line for line, _ in ROWS])
def test_each_line_has_its_tests(line: str, rest: str) -> None:
    named = re.findall(r"`((?:unit|integration)/[\w/]+\.py)::(\w+)`", rest)
    assert named, line
    for file, name in named:
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), f"{file}::{name}"


def test_all_of_it_stands_in_tables() -> None:
    """So that nobody claims a thing beside them."""
    prose = [line for line in CLAIMS.splitlines() if line and line[0] not in "|#"]
    assert len(ROWS) > 40
    assert len(prose) < 8, prose
