"""What reading a spec brings to light: every refusal and every notice, each with the field's path."""

import json
from dataclasses import dataclass, field

from bridge.errors import SpecError
from bridge.job.secrets import masked


def at(path: str, name: str) -> str:
    """Path of a field below another; the root's path is empty."""
    return f"{path}.{name}" if path else name


def shown(value: object) -> str:
    """A value for a sentence: short, on one line, and without what has the form of a secret."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(masked(text).split())
    return text if len(text) <= 60 else text[:57] + "…"


@dataclass
class Findings:
    """Collects while one spec is read, so that the user gets everything in one answer."""

    reasons: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    faulty: set[str] = field(default_factory=set)
    """Paths with a reason, so that what is missing only because it was refused is not refused twice."""

    def refuse(self, path: str, what: str, cure: str) -> None:
        """This field cannot be taken: what is wrong with it, and what to write instead."""
        self._add(self.reasons, f"{path}: {what}; {cure}")
        self.faulty.add(path)

    def notice(self, path: str, what: str) -> None:
        """This field was changed: from what to what, and why."""
        self._add(self.notices, f"{path}: {what}")

    def check(self) -> None:
        """Raises SpecError with every reason, if there is one."""
        if self.reasons:
            raise SpecError(list(self.reasons))

    @staticmethod
    def _add(sentences: list[str], sentence: str) -> None:
        if sentence not in sentences:
            sentences.append(sentence)
