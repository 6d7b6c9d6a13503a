"""The bench's pure parts: statistics, judgement, table, and what is kept of an interrupted bench."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.bench import table
from tests.bench.catalogue import FIGURES
from tests.bench.figure import Bound, Figure
from tests.bench.results import Result, Results
from tests.bench.samples import judge, quantile
from tests.bench.stamps import Stamps
from tests.integration.stack import Job


@pytest.mark.parametrize(
    ("samples", "at", "value"),
    [([3], 0.5, 3), ([3, 1, 2], 0.5, 2), ([1, 2], 0.5, 1.5), ([4, 1, 3, 2], 1.0, 4), ([1, 2, 3, 4, 5], 0.25, 2)],
)
def test_quantiles(samples: list[float], at: float, value: float) -> None:
    assert quantile(samples, at) == value


OURS = Bound("ours", than="floor", times=1.1, plus=0.5, why="because")


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
    assert lines[-1] == "    OVER ours <= 1.1 x floor + 0.5: 3 of 2.7 (because)"


def test_json_has_samples_bounds_and_what_could_not_be_measured() -> None:
    other = Figure("two", "", "s", lambda _: nullcontext(lambda _: {}))
    made = table.document([figure(OURS), other], {"one": result(ours=[1.0], floor=[2.0])}, {"two": "why"}, {"cpus": 2})
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
