"""The manual pages in packaging/man: written by hand, but for the parts that the code knows.

`make docs` writes these anew, between two comments that name them, and the version.
"""

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path

from bridge import __version__
from bridge.cli import exit_codes, keys, options
from bridge.cli.options import Argument, Verb
from bridge.cli.roff import bold, italic, item, plain, prose

_PART = re.compile(r'^(\.\\" Made by make docs: (\w+)\n).*?^(\.\\" End\n)', re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r'(?<="slurm-k8s-bridge )[^"]+')


def renew(folder: Path, daemon: ArgumentParser) -> None:
    """Write every page of this folder anew; ``daemon`` has bridged's options."""
    for page in sorted(folder.glob("*.[1-9]")):
        page.write_text(renewed(page.read_text(encoding="ascii"), daemon), encoding="ascii")


def renewed(page: str, daemon: ArgumentParser) -> str:
    """The page with what the code says now."""
    parts: dict[str, Callable[[], str]] = {
        "verbs": _verbs,
        "daemon": lambda: _options(daemon),
        "codes": _exit_codes,
        "keys": keys.as_manual,
    }
    page = _PART.sub(lambda found: f"{found[1]}{parts[found[2]]()}\n{found[3]}", page)
    return _VERSION.sub(__version__, page)


def _verbs() -> str:
    command, *verbs = options.bridgectl()
    leading = {verb.words[:-1] for verb in verbs}
    told = [item(_given(argument), _sentence(argument.text)) for argument in command.arguments]
    for verb in verbs:
        if verb.words not in leading:
            told += _verb(verb)
    return "\n".join(told)


def _verb(verb: Verb) -> Iterator[str]:
    yield ".SS " + " ".join([bold("bridgectl", *verb.words), *map(_in_synopsis, verb.arguments)])
    yield prose(_sentence(verb.text))
    yield from (item(_given(argument), _sentence(argument.text)) for argument in verb.arguments)
    yield f".PP\nFor example:\n.PP\n.nf\n    {plain(verb.example)}\n.fi"


def _in_synopsis(argument: Argument) -> str:
    told = _given(argument, short=True)
    return told if argument.needed else f"[{told}]"


def _given(argument: Argument, short: bool = False) -> str:
    """An option with its value, or the word itself."""
    flags = ", ".join(map(bold, argument.flags[:1] if short else argument.flags))
    return " ".join(filter(None, (flags, argument.value and italic(argument.value))))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _options(parser: ArgumentParser) -> str:
    (command,) = options.of_parser(parser)
    return "\n".join(item(_given(argument), _sentence(argument.text)) for argument in command.arguments)


def _exit_codes() -> str:
    return "\n".join(item(bold(row.code), f"{_sentence(row.when)}\nsacct: {row.sacct}.") for row in exit_codes.ROWS)
