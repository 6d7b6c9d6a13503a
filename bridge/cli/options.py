"""Every verb and option of a command line, as its parser knows them: for manual pages, completion, and their tests."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bridge.cli.main import EXAMPLE, VERBS, parser_of


@dataclass(frozen=True)
class Argument:
    """An option, or with no ``flags`` a word that stands by itself. ``value`` is what the user writes, '' where an
    option takes none; one that ``repeats`` may be given several times."""

    flags: tuple[str, ...]
    value: str
    choices: tuple[str, ...]
    is_file: bool
    text: str
    needed: bool
    repeats: bool


@dataclass(frozen=True)
class Verb:
    """``words`` lead to it: () is the command itself, ("node", "enroll") a verb below a verb. ``example`` is a whole
    command line, '' where verbs below it have theirs."""

    words: tuple[str, ...]
    text: str
    example: str
    arguments: tuple[Argument, ...]


def bridgectl() -> tuple[Verb, ...]:
    """The command itself, and all its verbs in the order of `bridgectl --help`."""
    return tuple(of_parser(parser_of(VERBS)))


def of_parser(parser: argparse.ArgumentParser, words: tuple[str, ...] = (), text: str = "") -> Iterator[Verb]:
    """What this parser takes, then what each of its verbs does. Only --help is left out: everybody has it."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    own = [action for action in parser._actions if action not in below and "--help" not in action.option_strings]
    yield Verb(
        words, text, (parser.epilog or "").removeprefix(EXAMPLE), tuple(_argument(parser, action) for action in own)
    )
    for verbs in below:
        texts = {action.dest: action.help or "" for action in verbs._choices_actions}
        for name, verb in verbs.choices.items():
            yield from of_parser(verb, (*words, name), texts[name])


def _argument(parser: argparse.ArgumentParser, action: argparse.Action) -> Argument:
    choices = tuple(map(str, action.choices or ()))
    return Argument(
        flags=tuple(action.option_strings),
        value="" if action.nargs == 0 else str(action.metavar or "|".join(choices) or action.dest.upper()),
        choices=choices,
        is_file=action.type is Path,
        text=parser._get_formatter()._expand_help(action) if action.help else "",
        needed=action.required,
        repeats=isinstance(action, argparse._AppendAction),
    )
