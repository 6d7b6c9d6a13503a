"""What `bridgectl submit` writes for a job: the spec, and the batch script beside it. Text alone, no file touched."""

import re
import shlex
from collections.abc import Mapping, Sequence

import yaml

from bridge.errors import Misused
from bridge.messages import submission as messages
from bridge.wellknown import TOKEN

_SPEC_HEAD = (
    "# Written by `bridgectl submit`. {spec} and {script} are yours to change; `sbatch {script}` submits them again.\n"
)
_SCRIPT = """#!/bin/bash
# Written by `bridgectl submit`: sbatch's options, and what shows the training's output and exits with its exit code.
{options}

exec bridgectl attach
"""
_NAME_LIMIT = 60
_COMMENT = "--comment"


def spec_text(
    names: tuple[str, str], image: str, command: Sequence[str], env: Mapping[str, str], more: Mapping[str, object]
) -> str:
    """A ContainerJob. ``names``: of spec and script; ``more``: further fields, empty ones left out."""
    job: dict[str, object] = {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": image}
    fields = {"command": list(command), **more, "env": dict(env)}
    job |= {name: value for name, value in fields.items() if value}
    head = _SPEC_HEAD.format(spec=names[0], script=names[1])
    return head + yaml.safe_dump(job, sort_keys=False, allow_unicode=True, width=110)


def script_text(options: Sequence[str]) -> str:
    """A batch script with these options of sbatch, one a line."""
    return _SCRIPT.format(options="\n".join(f"#SBATCH {_quoted(option)}" for option in joined(options)))


def joined(options: Sequence[str]) -> list[str]:
    """The same options, each of them one word of a shell or two: `-N 2`, `--mem 4G`, `--exclusive`."""
    lines: list[str] = []
    for word in options:
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += "\0" + word
    return lines


def _quoted(option: str) -> str:
    """As sbatch takes a line of a script apart: words, and quotes around what has spaces."""
    return " ".join(_word(word) for word in option.split("\0"))


def _word(word: str) -> str:
    if "\n" in word or '"' in word or "\\" in word:
        raise Misused(messages.OPTION_UNLIKE.sentence(option=repr(word[:80])))
    plain = shlex.quote(word) == word
    return word if plain else f'"{word}"'


def with_token(options: Sequence[str], spec: str) -> list[str]:
    """sbatch's options with the word that makes this a bridge job in the comment, beside the user's own comment.

    Raises Misused for a comment that has such a word already.
    """
    kept: list[str] = []
    comment = ""
    words = iter(options)
    for word in words:
        if word == _COMMENT:
            comment = next(words, "")
        elif word.startswith(f"{_COMMENT}="):
            comment = word.partition("=")[2]
        else:
            kept.append(word)
    if TOKEN in comment:
        raise Misused(messages.COMMENT_TAKEN.sentence(token=TOKEN))
    return [*kept, f"{_COMMENT}={comment + ' ' if comment else ''}{TOKEN}{spec}"]


def stray(options: Sequence[str]) -> str:
    """The first word that is neither an option nor can be one's value, '' where there is none: most likely the command,
    with no `--` before it."""
    before = ""
    for word in options:
        if not word.startswith("-") and not _may_take_a_word(before):
            return word
        before = word
    return ""


def _may_take_a_word(option: str) -> bool:
    """Only sbatch knows which do; `--nodes=2` and `-N2` have theirs."""
    return len(option) == 2 if not option.startswith("--") else "=" not in option


def value_of(options: Sequence[str], *names: str) -> str:
    """The last value that sbatch is given of an option: `--chdir=X`, `--chdir X`, `-D X`, `-DX`; '' where none is."""
    found = ""
    for index, word in enumerate(options):
        for name in names:
            if word == name:
                found = options[index + 1] if index + 1 < len(options) else ""
            elif name.startswith("--") and word.startswith(f"{name}="):
                found = word.partition("=")[2]
            elif not name.startswith("--") and word.startswith(name) and not word.startswith("--"):
                found = word[len(name) :]
    return found


def name_of(job_name: str, command: Sequence[str]) -> str:
    """What spec and script are named after: the job, or else the file that is run; of letters that no shell minds."""
    scripts = (word for word in command if re.search(r"\.(py|sh)$", word))
    chosen = job_name or next(scripts, "") or (command[0] if command else "job")
    stem = re.sub(r"\.(py|sh)$", "", chosen.rsplit("/", 1)[-1])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:_NAME_LIMIT] or "job"
