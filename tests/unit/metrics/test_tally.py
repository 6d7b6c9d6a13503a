"""What is counted while it happens."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from bridge.engine.state import Outcome
from bridge.job.faults import TABLE, Verdict
from bridge.metrics.tally import BUCKETS, OUTCOMES, VERDICTS, WAITS, Tally, outcome_of
from bridge.wellknown import METRIC
from tests.unit.engine.node import eventually
from tests.unit.engine.story import batch
from tests.unit.engine.world import World

from .given import Given


def test_a_run_that_goes_well_is_counted_once_in_each_place(world: World) -> None:
    node, job = world.node(), world.job()
    given = Given(node)
    assert given.value("runs_total", verdict="started") == 0.0
    world.running(node, job)
    assert given.value("runs_total", verdict="started") == 1.0
    attach = node.attach(job)
    world.ends(job, 0)
    assert attach.exit() == 0
    assert node.epilog(job).exit() == 0
    assert given.value("trainings_total", outcome="succeeded") == 1.0
    for phase in WAITS:
        assert given.value("wait_seconds_count", phase=phase) == 1.0, phase
        assert given.value("wait_seconds_bucket", phase=phase, le="+Inf") == 1.0
    assert sum(given.value("runs_total", verdict=verdict) or 0.0 for verdict in VERDICTS) == 1.0


def test_a_users_mistake_is_counted_by_verdict_and_row(world: World) -> None:
    node, job = world.node(), world.job()
    given = Given(node)
    node.prolog(job, spec={"path": "/home/ml/job.yaml", "data": "", "error": "there is none"}).exit()
    assert given.value("runs_total", verdict="job") == 1.0
    (fault,) = {run.judgement.fault for run in node.engine.runs.values() if run.judgement is not None}
    assert given.value("faults_total", fault=fault) == 1.0


def test_what_a_journal_tells_at_a_start_is_not_counted_again(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    given = Given(node)
    node.crash()
    eventually(lambda: node.run(job))
    assert given.value("runs_total", verdict="started") == 0.0


def test_series_do_not_grow_with_runs(world: World) -> None:
    """No label is a job, a user or a word of theirs."""
    node, first = world.node(), world.job(id=7)
    given = Given(node)
    world.running(node, first)
    assert node.epilog(first).exit() == 0
    known = given.series()
    for number in range(8, 12):
        job = world.job(id=number)
        world.running(node, job)
        assert node.epilog(job).exit() == 0
    assert given.series() == known
    assert len(known) < 250


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Outcome(0, "finished"), "succeeded"),
        (Outcome(1, "failed", 0), "failed"),
        (Outcome(137, "failed", 0, "oom-killed"), "failed"),
        (Outcome(75, "the training's own 75", 0), "failed"),
        (Outcome(75, "failed", 0, "pod-lost"), "infrastructure"),
        (Outcome(143, "ended", None, "ended-by-slurm"), "ended"),
    ],
)
def test_outcomes_have_a_few_words(outcome: Outcome, word: str) -> None:
    assert outcome_of(outcome) == word
    assert word in OUTCOMES


def test_answers_are_counted_by_server_verb_and_code() -> None:
    registry = CollectorRegistry()
    tally = Tally(registry)
    heard = tally.of("kubernetes")
    for status in (200, 200, 404, None, 299, 731):
        heard("GET", status)

    def value(code: str) -> float | None:
        labels = {"server": "kubernetes", "verb": "GET", "code": code}
        return registry.get_sample_value(f"{METRIC}_requests_total", labels)

    assert [value(code) for code in ("200", "404", "none", "other", "299")] == [2.0, 1.0, 1.0, 2.0, None]


def test_a_wait_is_what_lies_between_two_stations() -> None:
    registry = CollectorRegistry()
    tally, run = Tally(registry), batch().began().run
    waiting = replace(run, stations={"prolog": 1000.0})
    tally.changed(waiting, replace(run, stations={"prolog": 1000.0, "created": 1004.0}))
    labels = {"phase": "create"}
    assert registry.get_sample_value(f"{METRIC}_wait_seconds_sum", labels) == 4.0
    assert registry.get_sample_value(f"{METRIC}_wait_seconds_bucket", {**labels, "le": "2.5"}) == 0.0
    assert registry.get_sample_value(f"{METRIC}_wait_seconds_bucket", {**labels, "le": "5.0"}) == 1.0


def test_a_wait_whose_end_was_seen_before_its_beginning_is_counted_once() -> None:
    """The watch shows a pod that runs before the request that opened its gate has its answer."""
    registry = CollectorRegistry()
    tally, run = Tally(registry), batch().began().run
    seen = replace(run, stations={"prolog": 1000.0, "ready": 1003.0})
    answered = replace(run, stations={**seen.stations, "opened": 1003.5})
    for before, after in ((run, seen), (seen, answered), (answered, replace(answered, stations={**answered.stations}))):
        tally.changed(before, after)
    labels = {"phase": "start"}
    assert registry.get_sample_value(f"{METRIC}_wait_seconds_count", labels) == 1.0
    assert registry.get_sample_value(f"{METRIC}_wait_seconds_sum", labels) == 0.0


def test_the_labels_are_bounded() -> None:
    assert len(BUCKETS) < 20
    assert set(VERDICTS) == {"started"} | {verdict.value for verdict in Verdict} - {"none"}
    assert len(TABLE) < 200, "faults_total has one series for each that was met"
