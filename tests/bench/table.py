"""The table that people read and the JSON that programs read, of the same results."""

from collections.abc import Mapping, Sequence
from typing import Any

from .figure import Bound, Figure
from .results import Result
from .samples import Judged, judge, quantile


def judged(figure: Figure, result: Result) -> list[Judged]:
    """Each bound of a figure."""
    return [judge(bound, result.columns) for bound in figure.bounds]


def lines(figure: Figure, result: Result) -> list[str]:
    """A figure for people: min, median and max of each column, then each bound."""
    head = f"{figure.name}: {figure.what} [{figure.unit}]"
    load = f"{result.seconds:.0f} s, load {result.load[0]:.0f} to {result.load[1]:.0f}"
    told = [f"{head} ({load})"]
    told += [f"    note: {note}" for note in figure.notes]
    told += [_column(name, samples) for name, samples in result.columns.items()]
    told += [f"    {'ok  ' if each.met else 'OVER'} {_said(each)}" for each in judged(figure, result)]
    return told


def _column(name: str, samples: Sequence[float]) -> str:
    if not samples:
        return f"    {name:42} no sample"
    least, middle, most = (number(quantile(samples, at)) for at in (0.0, 0.5, 1.0))
    return f"    {name:42} {least:>9} {middle:>9} {most:>9}   n={len(samples)}"


def _said(each: Judged) -> str:
    value, limit = ("nothing" if found is None else number(found) for found in (each.value, each.limit))
    return f"{said(each.bound)}: {value} of {limit} ({each.bound.why}{'' if each.met else _reason(each)})"


def _reason(each: Judged) -> str:
    return f"; but {each.bound.reason}" if each.bound.reason else ""


def said(bound: Bound) -> str:
    """The bound as a formula."""
    which = "" if bound.at == 0.5 else f"p{bound.at * 100:.0f} of "
    reference = f"{bound.times:.3g} x {bound.than}" if bound.than else ""
    more = f"{bound.plus:.3g}" if bound.plus or not bound.than else ""
    return f"{which}{bound.of} <= {' + '.join(part for part in (reference, more) if part)}"


def number(value: float) -> str:
    """Three places, for people."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def document(
    figures: Sequence[Figure],
    results: Mapping[str, Result],
    failures: Mapping[str, str],
    machine: Mapping[str, Any],
    commit: str,
) -> dict[str, Any]:
    """Everything, as JSON has it."""
    measured = [_described(figure, results[figure.name]) for figure in figures if figure.name in results]
    return {"commit": commit, "machine": dict(machine), "figures": measured, "not_measured": dict(failures)}


def _described(figure: Figure, result: Result) -> dict[str, Any]:
    columns = {
        name: {
            "min": quantile(samples, 0.0),
            "median": quantile(samples, 0.5),
            "max": quantile(samples, 1.0),
            "samples": samples,
        }
        for name, samples in result.columns.items()
        if samples
    }
    bounds = [
        {
            "bound": said(each.bound),
            "value": each.value,
            "limit": each.limit,
            "met": each.met,
            "why": each.bound.why,
            "reason": "" if each.met else each.bound.reason,
        }
        for each in judged(figure, result)
    ]
    return {
        "figure": figure.name,
        "what": figure.what,
        "unit": figure.unit,
        "notes": list(figure.notes),
        "load": list(result.load),
        "seconds": result.seconds,
        "columns": columns,
        "bounds": bounds,
    }
