"""What a figure is: what is measured, beside what, and how much of that it may be."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from .world import World

Measured = Mapping[str, Sequence[float]]
"""What one round found: samples by column."""
Round = Callable[[int], Measured]
"""One round, by its number. It measures all columns, in turn, so that the machine's moods hit all alike."""


@dataclass(frozen=True)
class Bound:
    """Quantile `at` of column `of` is at most `times` that of column `than`, and `plus`. `reason`: what keeps it from
    being kept on a small machine, and which columns show that."""

    of: str
    why: str
    than: str = ""
    times: float = 0.0
    plus: float = 0.0
    at: float = 0.5
    reason: str = ""


@dataclass(frozen=True)
class Figure:
    """One line of the table of figures. `measuring` prepares, yields a round, and undoes what it has prepared."""

    name: str
    what: str
    unit: str
    measuring: Callable[[World], AbstractContextManager[Round]]
    bounds: tuple[Bound, ...] = ()
    rounds: int = 5
    quick: int = 1
    """Rounds of a quick bench; 0 where it leaves the figure out."""
    nodes: int = 0
    """Of a run whose time the daemons make; 0 where they do not. Such a figure is worth a profile."""
    notes: tuple[str, ...] = field(default=())
    """What a reader must know of how it is measured."""
