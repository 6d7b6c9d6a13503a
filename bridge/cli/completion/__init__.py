"""Completion of bridgectl for the shells that people have, made from its parser: verbs, options, and values where there
are a few, or files. `make docs` writes the scripts into packaging/completion."""

from collections.abc import Callable, Iterable
from pathlib import Path

from bridge.cli.completion import bash, fish, zsh
from bridge.cli.options import Verb, bridgectl

SCRIPTS: dict[str, Callable[[Iterable[Verb]], str]] = {
    "bash/bridgectl": bash.script,
    "fish/bridgectl.fish": fish.script,
    "zsh/_bridgectl": zsh.script,
}
"""Each file as the shell wants it named, and who writes it."""


def renew(folder: Path) -> None:
    """Write all of them anew."""
    for name, script in SCRIPTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(script(bridgectl()), encoding="utf-8")
