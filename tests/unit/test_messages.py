"""The catalogue of messages: whole, one for each name, and nobody speaks beside it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.cli.catalogue import as_page, consequences
from bridge.job.faults import TABLE
from bridge.messages.pages import MESSAGES

ROOT = Path(__file__).parents[2]
CATALOGUE = [(item.name, item.cause, item.consequence, item.cure) for item in MESSAGES]
CATALOGUE += [(row.name, row.cause, "; ".join(consequences(row)), row.cure or row.advice) for row in TABLE]
_SPEAKERS = ("BridgeError", "DaemonGone")
_ATTACH = "attach.py"  # its few sentences are not in the catalogue yet


@pytest.mark.parametrize("entry", CATALOGUE, ids=[entry[0] for entry in CATALOGUE])
def test_a_message_has_a_name_a_cause_a_consequence_and_a_cure(entry: tuple[str, ...]) -> None:
    name, *parts = entry
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    for part in parts:
        assert part.strip() == part != ""
        assert not re.search(r"Traceback|0x[0-9a-f]{4}|<bridge\.|<class|object at", part)
        assert not re.fullmatch(r"(it |this )?(has )?failed[.!]?", part)


def test_one_name_has_one_message() -> None:
    names = [entry[0] for entry in CATALOGUE]
    assert sorted(set(names)) == sorted(names)
    assert len(MESSAGES) > 20


def test_a_message_is_told_with_its_name_before_the_cure() -> None:
    (forgotten,) = [item for item in MESSAGES if item.name == "job-forgotten"]
    assert forgotten.sentence(job="{7}").startswith("Slurm knows no job {7} (any more), so")
    assert " [job-forgotten]; name the file" in forgotten.sentence(job=7)


def spoken(file: Path) -> Iterator[str]:
    """Sentences that are written down where they are raised or printed on stderr."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
            continue
        said = node.args[0]
        errs = any(word.arg == "file" and ast.unparse(word.value) == "sys.stderr" for word in node.keywords)
        if not (node.func.id in _SPEAKERS or (node.func.id == "print" and errs)):
            continue
        words = [
            part.value for part in ast.walk(said) if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        yield from (word for word in words if len(word.split()) > 3)


@pytest.mark.parametrize("file", sorted((ROOT / "bridge" / "cli").glob("*.py")), ids=lambda file: file.name)
def test_bridgectl_says_nothing_beside_the_catalogue(file: Path) -> None:
    assert file.name == _ATTACH or list(spoken(file)) == []


def test_a_sentence_beside_the_catalogue_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "new.py"
    file.write_text('raise BridgeError(f"{job} does not want to go")\nprint("or to stay at home", file=sys.stderr)\n')
    assert list(spoken(file)) == [" does not want to go", "or to stay at home"]


def test_the_page_is_what_the_code_says() -> None:
    """`make docs` makes it."""
    assert (ROOT / "docs" / "messages.md").read_text() == as_page() + "\n"
