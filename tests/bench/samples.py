"""From samples to a judgement: nothing here measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .figure import Bound


def quantile(samples: Sequence[float], at: float) -> float:
    """Between the two samples that are next to it."""
    ordered = sorted(samples)
    place = at * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@dataclass(frozen=True)
class Judged:
    """A bound, and what was found. `limit` is None where a column has no sample: then nothing is proven."""

    bound: Bound
    value: float | None
    limit: float | None

    @property
    def met(self) -> bool:
        """Whether it is kept."""
        return self.value is not None and self.limit is not None and self.value <= self.limit


def judge(bound: Bound, columns: Mapping[str, Sequence[float]]) -> Judged:
    """Whether these samples keep this bound."""
    ours, reference = columns.get(bound.of), columns.get(bound.than)
    value = quantile(ours, bound.at) if ours else None
    if not bound.than:
        return Judged(bound, value, bound.plus)
    limit = bound.times * quantile(reference, bound.at) + bound.plus if reference else None
    return Judged(bound, value, limit)
