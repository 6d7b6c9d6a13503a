"""Completion of bridgectl in the shells that are on the login node, installed by the package."""

import pytest

from .stack import Stack

_ZSH = """autoload -U compinit && compinit -D
bridgectl() {{ print -r -- "ran: $@" }}
{typed}
exit
"""


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("bridgectl st", {"status"}),
        ("bridgectl node ", {"enroll", "revoke", "bind", "renew"}),
        ("bridgectl node enroll n1 --ho", {"--hours"}),
        ("bridgectl explain -o ", {"text", "json", "markdown"}),
        ("bridgectl status ps --ou", {"--output"}),
        ("bridgectl check /etc/slurm-k8s-bridge/br", {"/etc/slurm-k8s-bridge/bridge.toml"}),
        ("bridgectl logs 12 --rank ", set()),
    ],
)
def test_fish(stack: Stack, line: str, offered: set[str]) -> None:
    said = stack.exec(
        "login",
        "fish",
        "--no-config",
        "-c",
        "source $argv[2]; complete -C $argv[1]",
        line,
        "/usr/share/fish/vendor_completions.d/bridgectl.fish",
        user="ml",
    )
    assert {row.partition("\t")[0] for row in said.splitlines()} == offered


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("bridgectl stat\t -o js\t", "status -o json"),
        ("bridgectl node enr\tn1 --ho\t5 --ou\t/etc/host\t", "node enroll n1 --hours"),
        ("bridgectl sub\t--im\tx --fol\t", "submit --image"),
        ("bridgectl che\t/etc/slurm-k8s-bridge/br\t", "check /etc/slurm-k8s-bridge/bridge.toml"),
    ],
)
def test_zsh(stack: Stack, typed: str, completed: str) -> None:
    """A person types, presses Tab, and Enter; what zsh then runs says what it made of it."""
    words = ["script", "-qec", "env TERM=dumb zsh -f -i", "/dev/null"]
    said = stack.exec("login", *words, user="ml", stdin=_ZSH.format(typed=typed))
    assert any(line.startswith(f"ran: {completed}") for line in said.splitlines()), said


def test_bash(stack: Stack) -> None:
    script = ". /usr/share/bash-completion/completions/bridgectl; complete -p bridgectl"
    assert stack.exec("login", "bash", "-c", script) == "complete -F _bridgectl bridgectl\n"
