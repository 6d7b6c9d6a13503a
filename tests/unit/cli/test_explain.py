"""`bridgectl explain`: the table for people and programs, and one job's row with what was done about it."""

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge import wellknown
from bridge.cli import sources
from bridge.cli.main import main
from bridge.cli.table import as_objects, as_text
from bridge.job.faults import TABLE
from tests.unit.engine.world import World


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What bridgectl prints, without what the test's daemon logs meanwhile."""
    with capture_logs():
        capsys.readouterr()
        assert main(["explain", *words]) == 0
        return capsys.readouterr().out


def test_the_table_has_every_row_and_fits_into_a_hundred_columns(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, "--table")
    assert text == as_text() + "\n"
    assert max(map(len, text.splitlines())) <= 100
    assert [line.split()[0] for line in text.splitlines() if line and line[0] != " "] == [row.name for row in TABLE]


@pytest.mark.parametrize("words", [("--table", "--json"), ("--table", "-o", "json")])
def test_the_table_is_json_too(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    rows = json.loads(said(capsys, *words))
    assert rows == as_objects() and len(rows) == len(TABLE)
    (missing,) = [row for row in rows if row["name"] == "image-missing"]
    assert missing["verdict"] == {"prolog": "job"}
    assert (missing["patience"], missing["timing"], missing["told"]) == (20.0, "image_patience", "owner")
    (unreachable,) = [row for row in rows if row["name"] == "api-unreachable"]
    assert unreachable["verdict"] == {"prolog": "shared", "running": "retry", "epilog": "retry"}


@pytest.mark.parametrize("words", [[], ["7", "--table"]])
def test_it_wants_a_job_or_the_table(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    assert main(["explain", *words]) == wellknown.EXIT_USAGE
    assert capsys.readouterr().err.startswith("bridgectl: explain takes a JOBID, or the name of a message, or")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the daemon will show of job 7."""
    run: dict[str, Any] = {}
    monkeypatch.setattr(sources, "has_daemon", lambda: True)
    monkeypatch.setattr(sources, "ask_once", lambda question: {"run": run} if question["job"] == 7 else {})
    return run


def test_a_refused_job_is_told_its_row_and_what_was_done(
    capsys: pytest.CaptureFixture[str], world: World, shown: dict[str, Any]
) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job, spec={"path": "j", "error": "cannot read j: no such file; put it there"}).exit() == 0
    shown.update(node.ask(verb="show", job=7)["run"])
    text = said(capsys, "7")
    assert text.splitlines()[0] == "job 7, running: spec-unreadable, verdict job"
    assert "what:    cannot read j: no such file; put it there" in text
    assert "means:   the job is cancelled, or held where the site says so; its nodes stay in service" in text
    assert "done:    told in the job's comment; the job was cancelled; the prolog on this node ended with 0" in text
    story = json.loads(said(capsys, "7", "--json"))
    assert (story["row"], story["verdict"], story["source"]) == ("spec-unreadable", "job", TABLE_SOURCE)


TABLE_SOURCE = next(row.source for row in TABLE if row.name == "spec-unreadable")


def test_a_training_that_failed_is_told_its_row(
    capsys: pytest.CaptureFixture[str], world: World, shown: dict[str, Any]
) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.ends(job, 3)
    node.until(lambda run: run.outcome, job)
    shown.update(node.ask(verb="show", job=7)["run"])
    text = said(capsys, "7")
    assert text.splitlines()[0] == "job 7, running: rank-failed, verdict job"
    assert "what:    failed: rank 0 on n1 exited 3 (Error)" in text


def test_a_job_that_is_well_is_told_so(capsys: pytest.CaptureFixture[str], world: World, shown: dict[str, Any]) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    shown.update(node.ask(verb="show", job=7)["run"])
    assert said(capsys, "7").splitlines()[0] == "job 7, running: nothing is wrong with it"


def test_a_release_that_takes_its_time_is_explained_too(
    capsys: pytest.CaptureFixture[str], world: World, shown: dict[str, Any]
) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    epilog = node.epilog(job, [(4711, "is in pod x")])
    node.until(lambda run: run.leftovers, job)
    shown.update(node.ask(verb="show", job=7)["run"])
    text = said(capsys, "7")
    assert text.splitlines()[0] == "job 7, release: leftovers, verdict retry"
    assert "release: still alive: process 4711 (python)" in text and "end them, then resume the node" in text
    epilog.finds = []
    assert epilog.exit() == 0


def test_a_row_of_another_version_is_told_as_far_as_it_goes(
    capsys: pytest.CaptureFixture[str], shown: dict[str, Any]
) -> None:
    shown.update(
        {"job": 7, "phase": "running", "verdict": "shared", "reason": "x", "fault": "of-the-future", "pods": {}}
    )
    assert said(capsys, "7").splitlines()[0] == "job 7, running: of-the-future, verdict shared"
