"""What a check is: somebody who looks, and a pure judgement of what was seen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.job.words import printable
from bridge.messages import doctor as messages

_CLAUSE_LIMIT = 600  # characters

Facts = TypeVar("Facts")
Told = dict[str, str]
"""Of a message: name, cause, consequence, cure."""


class State(Enum):
    """What came of a check. Unknown is not good."""

    GOOD = "good"
    FOUND = "found"
    UNKNOWN = "unknown"


class CannotLook(Exception):
    """Something is not known; ``told`` says what to do so that it can be."""

    def __init__(self, told: Told) -> None:
        super().__init__(told["cause"])
        self.told = told


@dataclass(frozen=True)
class Check(Generic[Facts]):
    """``look`` is all that does I/O, and changes nothing; ``judge`` is a function of the facts alone. Either may raise
    CannotLook; what a judgement has found before stays found."""

    name: str
    looks_at: str
    look: Callable[[Place], Facts]
    judge: Callable[[Facts], Iterator[Told]]


@dataclass(frozen=True)
class Result:
    """``told`` are the findings, and why something is unknown."""

    name: str
    looks_at: str
    state: State
    told: tuple[Told, ...] = ()


def clause(error: Exception) -> str:
    """Its words on one line, for a message; servers may write a novel."""
    return printable(" ".join(str(error).split()))[:_CLAUSE_LIMIT]


def examined(check: Check[Any], place: Place) -> Result:
    """One check that fails must not stop the others."""
    found: list[Told] = []
    unknown: list[Told] = []
    try:
        for told in check.judge(check.look(place)):
            found.append(told)
    except CannotLook as error:
        unknown.append(error.told)
    except BridgeError as error:
        unknown.append(messages.UNLOOKED.told(check=check.name, why=clause(error)))
    except Exception as error:  # noqa: BLE001 - a fault of ours: the other checks are as good as ever
        unknown.append(messages.CRASHED.told(check=check.name, kind=type(error).__name__, why=clause(error)))
    state = State.FOUND if found else State.UNKNOWN if unknown else State.GOOD
    return Result(check.name, check.looks_at, state, tuple(found + unknown))
