"""`--help` of every verb ends with an example that a person can take as it is."""

import shlex

import pytest

from bridge.cli.main import EXAMPLE, VERBS, main, parser_of
from bridge.cli.options import Verb, bridgectl

_LEADING = {verb.words[:-1] for verb in bridgectl()}
_VERBS = [verb for verb in bridgectl() if verb.words and verb.words not in _LEADING]


def test_these_are_the_verbs() -> None:
    assert {verb.words[0] for verb in _VERBS} == set(VERBS)


@pytest.mark.parametrize("verb", _VERBS, ids=lambda verb: " ".join(verb.words))
def test_its_example_is_one_of_it(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*verb.words, "--help"])
    assert ended.value.code == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{EXAMPLE}{verb.example}"
    command = shlex.split(verb.example.partition(" -- ")[0].partition(" >")[0].removeprefix("exec "))
    assert tuple(command[: len(verb.words) + 1]) == ("bridgectl", *verb.words)
    options, others = parser_of(command).parse_known_args(command[1:])
    assert callable(options.command)
    assert not others or options.takes_others
