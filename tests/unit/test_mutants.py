"""The list of `make mutants` fits the code; that the tests notice each of them takes too long for every change."""

from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant, listed

ROOT = Path(__file__).parents[2]


def test_there_are_enough_and_each_has_a_name() -> None:
    names = [mutant.name for mutant in listed()]
    assert len(set(names)) == len(names) >= 20


@pytest.mark.parametrize("mutant", listed(), ids=lambda mutant: mutant.name)
def test_its_line_is_there_once_and_becomes_another(mutant: Mutant) -> None:
    text = mutant.text(ROOT)
    assert mutant.old not in text or mutant.old in mutant.new
    assert mutant.breaks
    assert [room for room in mutant.rooms if not (ROOT / "tests" / "unit" / room).is_dir()] == []
    if mutant.file.endswith(".py"):
        compile(text, mutant.file, "exec")  # a slip is no syntax error


@pytest.mark.parametrize("mutant", listed(), ids=lambda mutant: mutant.name)
def test_who_noticed_it_is_a_test_of_its_rooms(mutant: Mutant) -> None:
    file, _, name = mutant.noticed_by.partition("::")
    assert [room for room in mutant.rooms if file.startswith(f"tests/unit/{room}/")]
    assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_line_that_is_gone_is_told() -> None:
    gone = Mutant("x", "y", "bridge/errors.py", "no such line", "", ("engine",), "")
    with pytest.raises(ValueError, match="0 times"):
        gone.text(ROOT)
