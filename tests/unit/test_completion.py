"""Completion of bridgectl: in step with the parser, and as bash takes it. fish and zsh are asked on the stack."""

import shlex
import subprocess
from pathlib import Path

import pytest

from bridge.cli.completion import SCRIPTS
from bridge.cli.main import VERBS
from bridge.cli.options import Verb, bridgectl

FOLDER = Path(__file__).parents[2] / "packaging" / "completion"
SCRIPT = FOLDER / "bash" / "bridgectl"


def completed(*words: str, here: Path = SCRIPT.parent) -> set[str]:
    """What bash offers when Tab is pressed behind these words, the last of which may be empty.

    Without -e: `compopt` fails where no Tab was pressed.
    """
    line = " ".join(map(shlex.quote, ("bridgectl", *words)))
    asked = f'. {SCRIPT}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _bridgectl; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True, cwd=here, timeout=30)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_they_are_in_step() -> None:
    """`make docs` writes them anew."""
    there = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*") if path.is_file()}
    assert there == {name: script(bridgectl()) for name, script in SCRIPTS.items()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_option_is_in_each(name: str) -> None:
    text = (FOLDER / name).read_text()
    flags = {flag for verb in bridgectl() for argument in verb.arguments for flag in argument.flags}
    assert len(flags) > 30
    written = {flag: f" -l {flag[2:]} " if name.endswith(".fish") else flag for flag in flags if flag[:2] == "--"}
    assert [flag for flag, form in written.items() if form not in text] == []


def test_bash_asks_it_for_bridgectl() -> None:
    done = subprocess.run(
        ["bash", "-ec", f". {SCRIPT}; complete -p bridgectl"], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "complete -F _bridgectl bridgectl\n"


def test_verbs() -> None:
    assert completed("") == {*VERBS, "--version", "--help"}
    assert completed("s") == {"status", "show", "shell", "signal", "schema", "submit"}
    assert completed("node", "") == {"enroll", "revoke", "bind", "renew", "--help"}
    assert completed("status", "attach", "--") == {"--output", "--help"}, "a word behind a verb is no verb"


@pytest.mark.parametrize("verb", [verb for verb in bridgectl() if verb.words], ids=lambda verb: " ".join(verb.words))
def test_every_long_option(verb: Verb) -> None:
    own = {flag for argument in verb.arguments for flag in argument.flags if flag.startswith("--")}
    assert completed(*verb.words, "--") == own | {"--help"}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("gc", "--d"), {"--dry-run"}),
        (("node", "enroll", "n1", "--h"), {"--hours", "--help"}),
        (("ps", "-o", ""), {"text", "json"}),
        (("explain", "-o", "m"), {"markdown"}),
        (("ps", "--output", "=", "j"), {"json"}),
        (("ps", "--output", "="), {"text", "json"}),
        (("logs", "12", "--rank", ""), set()),
        (("check", "tr"), {"train.yaml", "trees"}),
        (("check", "--config", "b"), {"bridge.toml"}),
        (("doctor", "tr"), set()),
    ],
)
def test_options_values_and_files(words: tuple[str, ...], offered: set[str], tmp_path: Path) -> None:
    for name in ("train.yaml", "bridge.toml"):
        (tmp_path / name).touch()
    (tmp_path / "trees").mkdir()
    assert completed(*words, here=tmp_path) == offered
