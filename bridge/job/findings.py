"""What reading a spec brings to light: every refusal and every notice, each with the field's path."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bridge.errors import SpecError
from bridge.job.secrets import masked

_ROLE = re.compile(r"(?<=^spec\.pytorchReplicaSpecs\.)(?:Master|Worker)(?=\.)")
_LAST = re.compile(r"\.([^.\[\]]+(?:\[[^\]]*\])?)$")
_SENTENCE_LIMIT = 500
"""Characters of one sentence about many fields; `engine.shown` cuts what is longer."""


def at(path: str, name: str) -> str:
    """Path of a field below another; the root's path is empty."""
    return f"{path}.{name}" if path else name


def shown(value: object) -> str:
    """A value for a sentence: short, on one line, and without what has the form of a secret."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(masked(text).split())
    return text if len(text) <= 60 else text[:57] + "…"


@dataclass(frozen=True)
class _Notice:
    """A field that was changed: its value, where that is told, and what became of it."""

    path: str
    what: str
    value: str = ""


@dataclass
class Findings:
    """Collects while one spec is read, so that the user gets everything in one answer."""

    reasons: list[str] = field(default_factory=list)
    faulty: set[str] = field(default_factory=set)
    """Paths with a reason, so that what is missing only because it was refused is not refused twice."""
    _changed: list[_Notice] = field(default_factory=list)

    def refuse(self, path: str, what: str, cure: str) -> None:
        """This field cannot be taken: what is wrong with it, and what to write instead."""
        reason = f"{path}: {what}; {cure}"
        if reason not in self.reasons:
            self.reasons.append(reason)
        self.faulty.add(path)

    def notice(self, path: str, what: str, value: str = "") -> None:
        """This field was changed: to what, and why. With its value, `what` may be the same for many fields."""
        notice = _Notice(path, what, value)
        if notice not in self._changed:
            self._changed.append(notice)

    @property
    def notices(self) -> list[str]:
        """What was changed, short: one sentence for all fields of which the same is to be said."""
        alike: dict[str, list[_Notice]] = {}
        for notice in self._changed:
            # A sentence without a value is about its own field only.
            key = notice.what if notice.value else f"{notice.path}: {notice.what}"
            alike.setdefault(key, []).append(notice)
        return [sentence for group in alike.values() for sentence in _sentences(group)]

    def check(self) -> None:
        """Raises SpecError with every reason, if there is one."""
        if self.reasons:
            raise SpecError(list(self.reasons))


def _sentences(group: list[_Notice]) -> Iterator[str]:
    named = _both_roles(group)
    if len(named) == 1:
        ((path, value),) = named
        yield f"{path}: {value} {group[0].what}" if value else f"{path}: {group[0].what}"
        return
    words: list[str] = []
    parent = ""
    for path, value in named:
        above, name = _split(path)
        word = f".{name} {value}" if words and above == parent else f"{path} {value}"
        if words and sum(map(len, words)) + len(word) > _SENTENCE_LIMIT - len(group[0].what):
            yield f"{', '.join(words)}: {group[0].what}"
            words, word = [], f"{path} {value}"
        words.append(word)
        parent = above
    yield f"{', '.join(words)}: {group[0].what}"


def _split(path: str) -> tuple[str, str]:
    """A field's object and its name; keys in brackets may have dots."""
    match = _LAST.search(path)
    return (path[: match.start()], match[1]) if match else ("", path)


def _both_roles(group: list[_Notice]) -> list[tuple[str, str]]:
    """Path and value of each; a field that Master and Worker have alike is there once, with `*` for the role."""
    named: dict[tuple[str, str], str] = {}
    for notice in group:
        key = _ROLE.sub("*", notice.path), notice.value
        named[key] = key[0] if key in named else notice.path
    return [(path, value) for (_, value), path in named.items()]
