"""docs/reference/performance.md, from the JSON of the last bench that was kept: `python -m tests.bench.page [FILE]`.

FILE is a bench.json, of which last.json then keeps what the page shows.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .table import number

_SHOWN = ("min", "median", "max")
LAST = Path(__file__).parent / "last.json"
_HEAD = """# What it costs

Made by `make docs` from the last run of `make bench` that was kept; [the bench](../../tests/bench/README.md) says how
each figure is measured. Every figure stands beside its reference of the same run: on a busy machine only the
ratios mean something. What it comes to at a site's size is [arithmetic](../explanation/scale.md).
"""


def small(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the page needs of a bench.json: no sample."""
    return {**document, "figures": [_without_samples(figure) for figure in document["figures"]]}


def _without_samples(figure: Mapping[str, Any]) -> dict[str, Any]:
    columns = {
        name: {**{each: _rounded(column[each]) for each in _SHOWN}, "n": len(column["samples"])}
        for name, column in figure["columns"].items()
    }
    bounds = [{**each, "value": _rounded(each["value"]), "limit": _rounded(each["limit"])} for each in figure["bounds"]]
    return {**figure, "columns": columns, "bounds": bounds}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def as_page(document: Mapping[str, Any]) -> str:
    """The page of what `small` has kept."""
    return "\n".join([_HEAD, *_run(document), *(line for each in document["figures"] for line in _figure(each))])


def _run(document: Mapping[str, Any]) -> Iterator[str]:
    machine = document["machine"]
    processors = f"{machine['cpus']} processors ({machine['cpu']})"
    yield f"Measured on {machine['date']} at commit `{document['commit']}`, on one machine with {processors},"
    yield f"{machine['memory_gb']} GB, Linux {machine['kernel']}, Python {machine['python']}: Slurm, Kubernetes, all"
    yield "nodes, and what watches them. A load (of one minute, before and after) far above the number of processors"
    yield "means that others worked there, too."
    bounds = [bound for figure in document["figures"] for bound in figure["bounds"]]
    over = sum(not bound["met"] for bound in bounds)
    yield f"{len(bounds) - over} of {len(bounds)} bounds are kept, {over} are not."
    reasons = {why.splitlines()[0][:200] for why in document["not_measured"].values()}
    for reason in sorted(reasons):
        names = [name for name, why in document["not_measured"].items() if why.startswith(reason)]
        yield f"Not measured: {', '.join(names)} ({reason})."


def _figure(figure: Mapping[str, Any]) -> Iterator[str]:
    load = " to ".join(f"{each:.0f}" for each in figure["load"])
    yield f"\n## {figure['figure']}\n"
    yield f"{figure['what'][0].upper()}{figure['what'][1:]}, in {figure['unit']}; load {load}.\n"
    yield "| | min | median | max | samples |\n|---|---|---|---|---|"
    for name, column in figure["columns"].items():
        yield f"| {name} | {' | '.join(number(column[each]) for each in _SHOWN)} | {column['n']} |"
    yield ""
    for bound in figure["bounds"]:
        value, limit = ("nothing" if each is None else number(each) for each in (bound["value"], bound["limit"]))
        yield f"- {'kept' if bound['met'] else '**over**'}: {bound['bound']}: {value} of {limit}, since {bound['why']}"
        if bound["reason"]:
            yield f"  *Why it is over*: {bound['reason']}."
    for note in figure["notes"]:
        yield f"- {note}"


def main() -> None:
    """Print the page."""
    for file in sys.argv[1:]:
        kept = small(json.loads(Path(file).read_text(encoding="utf-8")))
        LAST.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(as_page(json.loads(LAST.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
