"""What fuzzing began with, came to and found is replayed: `make fuzz` looks for more."""

from pathlib import Path

import pytest

from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

_CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"


def kept(target: str) -> list[bytes]:
    """The inputs that fuzzing has come to, each of which goes a way of its own."""
    return [file.read_bytes() for file in sorted((_CORPUS / target).iterdir())]


@pytest.mark.parametrize("target", TARGETS)
def test_a_border_keeps_its_word_for_every_input_that_is_kept(target: str) -> None:
    inputs = seeds(target) + kept(target)
    assert inputs
    for data in inputs:
        TARGETS[target](data)


def test_there_is_no_corpus_that_nobody_replays() -> None:
    assert {folder.name for folder in _CORPUS.iterdir()} == set(TARGETS)
