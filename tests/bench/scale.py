"""docs/explanation/scale.md, from the same JSON as the page of performance: `python -m tests.bench.scale`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .arithmetic import FITTED, PULSE, QPS, REWATCH, SURVEY, Site, checks, column, fitted, measured, standing
from .census import PARTIES
from .page import LAST
from .table import number

_SITES = [Site(nodes, rate, size) for nodes in (100, 1_000, 10_000) for rate in (1, 10, 100) for size in (1, 8)]
_NEAR = 0.15  # of what was measured: so far off the line may be
_TEXT = Path(__file__).parent / "scale.md.in"


def as_page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    tables = {"costs": _costs(document), "checks": _checks(document), "sites": _sites(document)}
    told = {name: "\n".join(lines) for name, lines in tables.items()}
    constants = {"few": FITTED[0], "many": FITTED[1], "near": f"{_NEAR * 100:.0f}", "qps": QPS}
    periods = {"pulse": number(PULSE), "survey": number(SURVEY), "rewatch": number(REWATCH)}
    return _TEXT.read_text(encoding="utf-8").format(**told, **constants, **periods, **_walls(document)).rstrip()


def _costs(document: Mapping[str, Any]) -> Iterator[str]:
    yield "| requests of | a run of one | and of eight | by the line: a run | and a pod |\n|---|---|---|---|---|"
    for party in PARTIES:
        line = fitted(document, f"requests: {party}")
        seen = [measured(document, "requests", party, size) for size in (1, 8)]
        yield f"| {party} | {' | '.join(map(number, [*seen, line.run, line.pod]))} |"


def _checks(document: Mapping[str, Any]) -> Iterator[str]:
    yield "| | pods | by the line | measured | |\n|---|---|---|---|---|"
    names = {f"requests: {party}": f"requests: {party}" for party in PARTIES}
    for name, what in {**names, "floor": "seconds of the floor's prolog"}.items():
        for size, said, found in checks(document, name):
            yield f"| {what} | {size} | {number(said)} | {_found(found)} | {_verdict(said, found)} |"


def _found(found: float | None) -> str:
    return "not yet" if found is None else number(found)


def _verdict(said: float, found: float | None) -> str:
    if found is None:
        return "open"
    off = said / found - 1 if found else 0.0
    return "holds" if abs(off) <= _NEAR else f"off by {off * 100:+.0f} %"


def _sites(document: Mapping[str, Any]) -> Iterator[str]:
    heads: tuple[str, ...] = (
        "nodes",
        "jobs a second",
        "nodes a job",
        "longest job",
        "standing",
        "bridge",
        "all",
        "API server",
        "etcd",
    )
    heads += ("operator", "slurmctld")
    units = ("", "", "", "s", *["requests/s"] * 3, "processors", "writes/s", "requests/s", "RPC/s")
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}\n| {' | '.join(units)} |"
    for site in _SITES:
        yield f"| {' | '.join(_asked(document, site))} |"


def _asked(document: Mapping[str, Any], site: Site) -> list[str]:
    def of_runs(kind: str) -> dict[str, float]:
        return {party: site.jobs_a_second * measured(document, kind, party, site.size) for party in PARTIES}

    requests, rpcs = of_runs("requests"), column(document, "slurmctld", "ours")
    everybody, busy = sum(requests.values()) + standing(site), _processors_of_a_request(document)
    cells: list[float | None] = [
        site.nodes,
        site.jobs_a_second,
        site.size,
        site.longest,
        standing(site),
        requests["bridge"],
        everybody,
    ]
    cells += [None if busy is None else busy * everybody, sum(of_runs("writes").values()), requests["operator"]]
    cells += [None if rpcs is None else rpcs * site.jobs_a_second]
    return ["open" if cell is None else number(cell) for cell in cells]


def _processors_of_a_request(document: Mapping[str, Any]) -> float | None:
    """Seconds of a processor of the API server, for one of the requests that runs of one node make."""
    busy, rate = (column(document, "throughput-64", name) for name in ("processors: API server", "ours"))
    if busy is None or not rate:
        return None
    return busy / rate / sum(measured(document, "requests", party, 1) for party in PARTIES)


def _walls(document: Mapping[str, Any]) -> dict[str, Any]:
    operator, floor = fitted(document, "requests: operator"), fitted(document, "floor")
    rpcs = column(document, "slurmctld", "ours")
    writes = {party: measured(document, "writes", party, 1) for party in PARTIES}
    return {
        "creates": number(operator.pod),
        "wait64": number(operator.of(64) / QPS),
        "wait1024": number(operator.of(1024) / QPS),
        "pace": number(1 / floor.pod) if floor.pod > 0 else "some",
        "events": number(100 * writes["events"] / sum(writes.values())),
        "rpcs": "some" if rpcs is None else number(rpcs),
    }


def main() -> None:
    """Print the page."""
    print(as_page(json.loads(LAST.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
