"""A node on which failpoints are armed, as far as anybody sees it."""

from collections.abc import Mapping
from types import MappingProxyType

from tests.chaos.arming import Arming
from tests.chaos.mixes import USUAL
from tests.chaos.plan import Mix, Pace

NOTHING: Mapping[str, int] = MappingProxyType({})


class Hand:
    """Of a node; keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def say(self, *words: object) -> None:
        self.told.append(tuple(map(str, words)))

    @property
    def armed(self) -> tuple[str, ...]:
        return self.told[-1][1:]


def arming(hand: Hand, gap: float = 5.0, before: Mapping[str, int] = NOTHING, mix: Mix = USUAL) -> Arming:
    """Of this one alone."""
    return Arming(1, {"n1": hand}, Pace(faults=0, failpoints=gap), before, mix)
