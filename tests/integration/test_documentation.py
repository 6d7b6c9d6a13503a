"""The commands of the documentation, run as its reader would: block after block, and what is shown below them comes."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from .stack import Stack

_DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:```text\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE)
_ELLIPSIS = "…"
PAGES = sorted(str(page.relative_to(_DOCS)) for page in _DOCS.rglob("*.md") if _BLOCK.search(page.read_text()))


@dataclass(frozen=True)
class Block:
    """Lines of shell, and the lines that their output has among others, in any order."""

    commands: str
    output: tuple[str, ...]


def blocks(page: str) -> list[Block]:
    """Of a page, in their order."""
    found = _BLOCK.finditer((_DOCS / page).read_text())
    return [Block(match["commands"], tuple((match["output"] or "").splitlines())) for match in found]


def test_there_is_a_page_with_commands() -> None:
    assert "tutorial/first-job.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(stack: Stack, page: str) -> None:
    directory = stack.new_directory("ml", "docs")
    for block in blocks(page):
        words = ("bash", "-l", "-c", f"cd {directory} && exec 2>&1 && set -e\n{block.commands}")
        said = stack.exec("login", *words, user="ml")
        for line in block.output:
            wanted = ".*".join(re.escape(part) for part in line.split(_ELLIPSIS))
            assert re.search(f"^{wanted}$", said, re.MULTILINE), f"{block.commands}\nhas no line {line!r}:\n{said}"
    stack.await_idle(60)
