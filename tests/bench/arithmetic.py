"""What a site's size asks of everybody, from the costs of single runs: nothing here measures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FITTED = (8, 64)
CHECKED = (256, 1024)
PULSE = 1 / 60  # requests a second of a node that has nothing to do
SURVEY = 1 / 300  # lists a second of its own workloads
REWATCH = 2 / 135  # requests a second of the batch node of a training: two watches, each begun anew every 120 to 150 s
QPS, THREADS = 20, 1  # of an operator that nobody has told otherwise (1.9.1 and later; 5 before)


@dataclass(frozen=True)
class Line:
    """What a run of so many pods costs: something for the run, something for each pod."""

    run: float
    pod: float

    def of(self, pods: float) -> float:
        """Cost of one run."""
        return self.run + self.pod * pods


@dataclass(frozen=True)
class Site:
    """`size`: nodes of each job."""

    nodes: int
    jobs_a_second: float
    size: int

    @property
    def longest(self) -> float:
        """Seconds that a job lasts when all nodes are busy."""
        return self.nodes / (self.jobs_a_second * self.size)


def column(document: Mapping[str, Any], figure: str, name: str) -> float | None:
    """The median; None where it has not been measured."""
    found = [each for each in document["figures"] if each["figure"] == figure]
    return float(found[0]["columns"][name]["median"]) if found and name in found[0]["columns"] else None


def fitted(document: Mapping[str, Any], name: str) -> Line:
    """Through the two sizes of FITTED."""
    few, many = (column(document, f"prolog-{size}", name) for size in FITTED)
    assert few is not None and many is not None, f"{name} has not been measured at {FITTED}"
    pod = (many - few) / (FITTED[1] - FITTED[0])
    return Line(few - pod * FITTED[0], pod)


def measured(document: Mapping[str, Any], kind: str, party: str, size: int) -> float:
    """What a run of so many pods was seen to ask (`kind` "requests") or to have written ("writes"); of kubelets, what
    that of a real node did for its pod."""
    pods, figure = (size, "prolog-1") if party == "kubelets" else (1, f"prolog-{size}")
    return pods * (column(document, figure, f"{kind}: {party}") or 0.0)


def checks(document: Mapping[str, Any], name: str) -> Iterator[tuple[int, float, float | None]]:
    """Size, what the line says, what was measured: of sizes that it was not fitted to."""
    line = fitted(document, name)
    for size in CHECKED:
        yield size, line.of(size), column(document, f"prolog-{size}", name)


def standing(site: Site) -> float:
    """Requests a second of nodes that all train and ask for nothing else."""
    return site.nodes * (PULSE + SURVEY) + site.nodes / site.size * REWATCH
