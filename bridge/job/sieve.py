"""Passes a spec through the table of treatments: what is left is known, typed, and allowed to stay.

Of the result the renderer may rely on: only paths with a row that keeps or translates them are there, no
null anywhere outside `**`, and every value has its row's shape.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from bridge.job.findings import Findings, at, shown
from bridge.job.secrets import is_secret_name
from bridge.job.treatments import Row, Shape, Treatment

_STEP = re.compile(r"\[\]|[^.\[\]]+")
NUMBER_LIMIT = 2**63
_SUGGESTED = 20  # unknown fields of a spec for which another spelling is looked for
_LIKE = 0.8  # of 1, for two words that are the same


@dataclass
class Sieve:
    """The table as a tree: a node is a field, with a row where the table ends, else with fields below."""

    row: Row | None = None
    below: dict[str, "Sieve"] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> "Sieve":
        """The tree of a table. Two rows for one path, or a row above another, are a fault of the table."""
        root = cls()
        for row in rows:
            node = root
            for step in _STEP.findall(row.path.removesuffix(".**")):
                if node.row is not None:
                    raise ValueError(f"{node.row.path} is a row above {row.path}")
                node = node.below.setdefault(step, cls())
            if node.row is not None or node.below:
                raise ValueError(f"{row.path} has more than one row")
            node.row = row
        return root

    def pass_through(self, value: Any, path: str, findings: Findings) -> Any:
        """What is left of a value, None where nothing is; refusals and notices go to `findings`."""
        if value is None:
            return None
        if self.row is not None:
            return _treat(self.row, value, path, findings)
        if "[]" in self.below:
            return self._items(value, path, findings)
        return self._fields(value, path, findings)

    def _items(self, value: Any, path: str, findings: Findings) -> list[Any] | None:
        if not isinstance(value, list):
            findings.refuse(path, f"must be a list, is {_kind(value)}", "write each item behind a `-`")
            return None
        left = []
        for n, item in enumerate(value):
            if item is None:
                findings.refuse(f"{path}[{n}]", "is empty", "remove the `-`, or write something behind it")
            kept = self.below["[]"].pass_through(item, f"{path}[{n}]", findings)
            if kept is not None:
                left.append(kept)
        return left

    def _fields(self, value: Any, path: str, findings: Findings) -> dict[str, Any] | None:
        if not isinstance(value, dict):
            findings.refuse(path, f"must be an object, is {_kind(value)}", "write its fields below it, indented")
            return None
        left = {}
        for name, inner in value.items():
            known = self.below.get(name) or self.below.get("*")
            if known is None:
                findings.refuse(at(path, name), "no such field", self._suggestion(name, len(findings.reasons)))
                continue
            if known.row is not None and known.row.private and is_secret_name(str(value.get("name"))):
                kept = _unseen(known.row, inner, at(path, name), findings)
            else:
                kept = known.pass_through(inner, at(path, name), findings)
            if kept is not None:
                left[name] = kept
        return left

    def _suggestion(self, name: str, told: int) -> str:
        """``told``: how many reasons there are already; a person reads no more than some, and a file may have many."""
        near = [known for known in self.below if known.lower() == name.lower().replace("_", "")]
        if not near and told < _SUGGESTED:
            near = get_close_matches(name, [known for known in self.below if known != "*"], 1, _LIKE)
        return f"write {near[0]}" if near else "remove it, or mend its spelling or indentation"


def _treat(row: Row, value: Any, path: str, findings: Findings) -> Any:
    if row.treatment is Treatment.REFUSE:
        if value not in row.harmless:
            findings.refuse(path, f"{shown(value)} is not allowed", row.why)
        return None
    if not row.rule:
        if value not in row.harmless and not row.quiet:
            findings.notice(path, row.why, shown(value))
        return None
    cure = _misshaped(row.shape, value)
    if cure:
        findings.refuse(path, f"must be {row.shape.value}, is {_kind(value)}", cure)
        return None
    return value


def _unseen(row: Row, value: Any, path: str, findings: Findings) -> Any:
    """The value, None where it has another form than its row: said without showing it."""
    if value is None or not _misshaped(row.shape, value):
        return value
    findings.refuse(path, f"must be {row.shape.value}", "write it in quotes")
    return None


def _misshaped(shape: Shape, value: Any) -> str:
    """How to write the value in the right form, or '' if it has it."""
    if shape is Shape.ANY or _SHAPES[shape](value):
        return ""
    if isinstance(value, (bool, int, float)) and shape is Shape.TEXT:
        return f'write "{shown(value)}"'
    if shape is Shape.TEXTS:
        return 'write ["one", "two"], and numbers in quotes too'
    if shape is Shape.TEXT_MAP:
        return 'write NAME: "value", and numbers in quotes too'
    return f"write {shape.value}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < NUMBER_LIMIT


def _is_amount(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


_SHAPES: dict[Shape, Callable[[Any], bool]] = {
    Shape.TEXT: _is_text,
    Shape.NUMBER: _is_number,
    Shape.SWITCH: lambda value: isinstance(value, bool),
    Shape.TEXTS: lambda value: isinstance(value, list) and all(map(_is_text, value)),
    Shape.TEXT_MAP: lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
    Shape.AMOUNT: _is_amount,
    Shape.AMOUNTS: lambda value: isinstance(value, dict) and all(map(_is_amount, value.values())),
    Shape.COUNT_TEXT: lambda value: _is_text(value) or _is_number(value),
}


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f"the text {shown(value)}" if isinstance(value, str) else shown(value)
