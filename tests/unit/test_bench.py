"""The bench's pure parts: statistics, judgement, table, and what is kept of an interrupted bench."""

import json
import math
import time
from contextlib import nullcontext
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench import flame, headline, page, profiles, scale, table
from tests.bench.arithmetic import Line, Site, checks, fitted, measured, standing
from tests.bench.catalogue import FIGURES
from tests.bench.changes import Changes
from tests.bench.figure import Bound, Figure
from tests.bench.results import Result, Results
from tests.bench.samples import judge, quantile
from tests.bench.stamps import Stamps
from tests.integration import audit
from tests.integration.stack import Job

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("samples", "at", "value"),
    [([3], 0.5, 3), ([3, 1, 2], 0.5, 2), ([1, 2], 0.5, 1.5), ([4, 1, 3, 2], 1.0, 4), ([1, 2, 3, 4, 5], 0.25, 2)],
)
def test_quantiles(samples: list[float], at: float, value: float) -> None:
    assert quantile(samples, at) == value


OURS = Bound("ours", than="floor", times=1.1, plus=0.5, why="because", reason="two share one")


@pytest.mark.parametrize(
    ("bound", "columns", "met"),
    [
        (OURS, {"ours": [2.7], "floor": [2.0]}, True),
        (OURS, {"ours": [2.8], "floor": [2.0]}, False),
        (OURS, {"ours": [1.0, 2.7, 9.0], "floor": [1.0, 2.0, 2.0]}, True),
        (OURS, {"ours": [1.0]}, False),
        (OURS, {"floor": [1.0]}, False),
        (OURS, {"ours": [], "floor": [1.0]}, False),
        (Bound("ours", plus=5, at=1.0, why=""), {"ours": [5.0, 5.0]}, True),
        (Bound("ours", plus=5, at=1.0, why=""), {"ours": [4.0, 6.0]}, False),
        (Bound("ours", than="peer", times=1 / 8, why=""), {"ours": [1.0], "peer": [7.9]}, False),
    ],
)
def test_a_bound_is_kept_or_not(bound: Bound, columns: dict[str, list[float]], met: bool) -> None:
    assert judge(bound, columns).met is met


def figure(*bounds: Bound) -> Figure:
    return Figure("one", "what it is", "ms", lambda _: nullcontext(lambda _: {}), bounds)


def result(**columns: list[float]) -> Result:
    return Result("one", columns, 12.0, (1.0, 2.0))


def test_the_table_says_plainly_what_is_over() -> None:
    lines = table.lines(figure(OURS), result(ours=[9.0, 1.0, 3.0], floor=[2.0]))
    assert lines[0] == "one: what it is [ms] (12 s, load 1 to 2)"
    assert lines[1].split() == ["ours", "1", "3", "9", "n=3"]
    assert lines[-1] == "    OVER ours <= 1.1 x floor + 0.5: 3 of 2.7 (because; but two share one)"


def test_json_has_samples_bounds_and_what_could_not_be_measured() -> None:
    other = Figure("two", "", "s", lambda _: nullcontext(lambda _: {}))
    made = table.document(
        [figure(OURS), other], {"one": result(ours=[1.0], floor=[2.0])}, {"two": "why"}, {"cpus": 2}, "abc"
    )
    (one,) = json.loads(json.dumps(made))["figures"]
    assert one["columns"]["ours"] == {"min": 1.0, "median": 1.0, "max": 1.0, "samples": [1.0]}
    assert [bound["met"] for bound in one["bounds"]] == [True]
    assert made["not_measured"] == {"two": "why"} and made["machine"] == {"cpus": 2}


def test_what_has_been_measured_is_kept(tmp_path: Path) -> None:
    results = Results(tmp_path / "commit")
    assert results.get("one") is None
    results.put(result(ours=[1.0]))
    assert Results(tmp_path / "commit").get("one") == result(ours=[1.0])
    (tmp_path / "commit" / "one.json").write_text("{")
    assert results.get("one") is None


def test_every_figure_has_its_own_name_and_its_bounds_a_reason() -> None:
    names = [each.name for each in FIGURES]
    assert len(set(names)) == len(names)
    assert [each.name for each in FIGURES if not all(bound.why for bound in each.bounds)] == []


def test_a_stamp_is_of_one_hook_of_one_job() -> None:
    stamps = Stamps()
    stamps.take("compute1", "prolog 7 100.25 101.5\n")
    assert stamps.awaited("prolog", "compute1", Job(7, "ml", "", "")).seconds == 1.25
    with pytest.raises(AssertionError):
        stamps.awaited("epilog", "compute1", Job(7, "ml", "", ""), seconds=0)


def test_the_page_is_made_of_what_was_kept_of_the_last_bench() -> None:
    kept = json.loads(page.LAST.read_text(encoding="utf-8"))
    assert (REPOSITORY / "docs/reference/performance.md").read_text(encoding="utf-8") == page.as_page(kept) + "\n"
    assert (REPOSITORY / "docs/explanation/scale.md").read_text(encoding="utf-8") == scale.as_page(kept) + "\n"
    assert headline.block(kept) in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_page_shows_each_column_and_says_plainly_what_is_over() -> None:
    machine = {"date": "2026-01-02", "cpus": 2, "cpu": "x", "memory_gb": 1, "kernel": "6", "python": "3.11"}
    found = {"one": result(ours=[9.0, 1.0, 3.00001], floor=[2.0])}
    kept = page.small(table.document([figure(OURS)], found, {"two": "why\nand where"}, machine, "abc"))
    assert "samples" not in json.dumps(kept)
    lines = page.as_page(kept).splitlines()
    assert "| ours | 1 | 3 | 9 | 3 |" in lines
    told = lines.index("- **over**: ours <= 1.1 x floor + 0.5: 3 of 2.7, since because")
    assert lines[told + 1] == "  *Why it is over*: two share one."
    assert "0 of 1 bounds are kept, 1 are not." in lines and "Not measured: two (why)." in lines


def test_profiles_are_of_the_daemons_figures_that_use_most_of_a_bound() -> None:
    def used(name: str, share: float, nodes: int = 1) -> tuple[Figure, Result]:
        bounds = (Bound("ours", plus=1.0, why=""), Bound("ours", plus=100.0, why=""))
        made = Figure(name, "", "s", lambda _: nullcontext(lambda _: {}), bounds, nodes=nodes)
        return made, Result(name, {"ours": [share]}, 1.0, (0.0, 0.0))

    known = [used("a", 0.5), used("b", 3.0), used("no daemon's", 9.0, nodes=0), used("c", 0.4), used("d", 0.9)]
    missing, _ = used("not measured", 99.0)
    results = {made.name: its for made, its in known}
    assert [each.name for each in profiles.worst([missing, *(made for made, _ in known)], results)] == ["b", "d", "a"]


def test_a_flame_graph_is_as_wide_as_its_amounts_and_escapes_names() -> None:
    drawn = ElementTree.fromstring(flame.svg("all", "kB", {("a<b>", "c"): 30.0, ("a<b>",): 10.0, ("d",): 40.0}))
    boxes = {group[0].text: float(group[1].attrib["width"]) for group in drawn.findall("{*}g")}
    assert boxes == {"all: 80 kB": 1200.0, "a<b>: 40 kB": 600.0, "c: 30 kB": 450.0, "d: 40 kB": 600.0}


def test_watch_events_are_those_that_the_watches_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def watch(resource: str, query: str, began: float = 0.0, ended: float = math.inf) -> dict[str, object]:
        entry = {"objectRef": {"resource": resource}, "requestURI": f"/api?watch=true{query}"}
        stage = "ResponseStarted" if ended == math.inf else "ResponseComplete"
        return entry | {"requestReceivedTimestamp": began, "stageTimestamp": ended, "stage": stage}

    monkeypatch.setattr(audit, "at", float)
    monkeypatch.setattr(time, "time", iter((10.0, 20.0, 30.0, 40.0)).__next__)

    changes = Changes()
    for resource, name in (("pods", "w-1-worker-0"), ("pods", "w-1-worker-1"), ("pods", "w-2-worker-0")):
        changes.take(resource, {"type": "ADDED", "object": {"metadata": {"name": name}}})
    changes.take("pytorchjobs", {"type": "DELETED", "object": {"metadata": {"name": "w-1"}}})
    everything = [watch("pods", "&labelSelector=run%3Dw-1"), watch("pytorchjobs", "&fieldSelector=metadata.name%3Dw-1")]
    assert changes.of("w-1", everything) == 3
    one = "&fieldSelector=metadata.name%3Dw-1-worker-0"
    assert changes.of("w-1", [watch("pods", one), watch("pods", one, began=15.0)]) == 2  # the second: what is there
    assert changes.of("w-1", [watch("pods", "", ended=15.0)]) == 1


def cost(figure: str, bridge: float, kubelets: float) -> dict[str, object]:
    columns = {"requests: bridge": {"median": bridge}, "requests: kubelets": {"median": kubelets}}
    return {"figure": figure, "columns": columns}


KNOWN = {
    "figures": [
        cost("prolog-1", 12.0, 13.0),
        cost("prolog-8", 30.0, 24.0),
        cost("prolog-64", 198.0, 192.0),
        cost("prolog-256", 774.0, 768.0),
    ]
}


def test_a_runs_cost_is_a_line_through_two_sizes() -> None:
    assert fitted(KNOWN, "requests: bridge") == Line(6.0, 3.0)


def test_what_was_seen_counts_and_of_kubelets_what_a_real_one_asks() -> None:
    assert measured(KNOWN, "requests", "bridge", 8) == 30.0
    assert measured(KNOWN, "requests", "kubelets", 8) == 8 * 13.0


def test_a_line_is_checked_at_sizes_that_it_was_not_fitted_to_and_open_where_nobody_measured() -> None:
    assert list(checks(KNOWN, "requests: bridge")) == [(256, 774.0, 774.0), (1024, 3078.0, None)]


def test_a_sites_jobs_last_as_long_as_its_nodes_are_many() -> None:
    site = Site(nodes=1000, jobs_a_second=10, size=8)
    assert site.longest == 12.5
    assert (
        1000 / 60 + 1000 / 300 < standing(site) < standing(Site(1000, 10, 1))
    )  # a watch pair for each run, not for each node
