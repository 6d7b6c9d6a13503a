"""Whose rights the daemon has in Slurm: reports with the service token, and what `status` says of it."""

from pathlib import Path
from typing import Literal

import pytest

from bridge.config.servers import Slurmrest
from bridge.slurmrest.api import Credential

from .clients import Job
from .node import Node
from .world import World, config

SERVICE = Credential("op", "service's")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("SLURM_JWT=service's\n")
    path.chmod(0o600)
    return path


def node_of(world: World, file: Path, tier: Literal["service", "administrator"] = "service") -> Node:
    """A node to whose bridge the site has given a token."""
    rest = Slurmrest(url="https://slurmrestd:6820", tier=tier, service_user="op", service_token_file=file)
    world.rest.operators.add("op")
    return world.node(given=config().model_copy(update={"slurmrest": rest}))


def tokenless(node: Node, job: Job) -> int:
    """The exit of a prolog where the site forbids `scontrol token`."""
    return node.prolog(job, token=None, token_error="no Slurm token: not allowed").exit()


def test_a_run_without_its_owners_token_is_reported_with_the_service_token(world: World, file: Path) -> None:
    node, job = node_of(world, file), world.job()
    assert tokenless(node, job) == 0
    world.ends(job, 0)
    node.until(lambda run: run.outcome and run.reported == run.sentence, job)
    assert "1/1 ranks exited 0" in world.comment(job)
    assert set(world.rest.asked_as) == {SERVICE}


def test_the_owners_token_goes_first(world: World, file: Path) -> None:
    node, job = node_of(world, file), world.job()
    world.running(node, job)
    assert {who.user for who in world.rest.asked_as} == {"ml"}


def test_a_restarted_daemon_reports_without_waiting_for_a_token(world: World, file: Path) -> None:
    node, job = node_of(world, file), world.job()
    world.running(node, job)
    node.crash()
    world.ends(job, 0)
    node.until(lambda run: run.outcome and run.reported == run.sentence, job)
    assert "1/1 ranks exited 0" in world.comment(job)


def test_a_refused_job_is_cancelled_with_the_service_token(world: World, file: Path) -> None:
    node, job = node_of(world, file), world.job()
    spec = {"path": "/home/ml/job.yaml", "error": "cannot read /home/ml/job.yaml: no such file"}
    assert node.prolog(job, token=None, spec=spec).exit() == 0
    assert "CANCELLED" in world.rest.jobs[job.id].states
    assert "no such file" in world.comment(job)


def test_a_service_token_that_cannot_be_read_holds_up_no_job(world: World, file: Path) -> None:
    node, job = node_of(world, file), world.job()
    file.unlink()
    assert tokenless(node, job) == 0
    run = node.run(job)
    assert not run.reporting
    assert "service_token_file" in run.no_report
    assert world.rest.asked_as == []


def test_status_tells_why_nobody_can_act_for_owners(world: World) -> None:
    node = world.node()
    assert node.ask(verb="status")["tier"] == "owner"
    assert tokenless(node, world.job()) == 0
    assert node.ask(verb="status")["tier"] == "none: no Slurm token: not allowed"
    world.running(node, world.job(id=8))
    assert node.ask(verb="status")["tier"] == "owner"


@pytest.mark.parametrize("tier", ["service", "administrator"])
def test_status_tells_the_tier(world: World, file: Path, tier: Literal["service", "administrator"]) -> None:
    node = node_of(world, file, tier)
    assert node.ask(verb="status")["tier"] == tier
    file.chmod(0o644)
    assert node.ask(verb="status")["tier"].startswith(f"owner: {file}: others than its owner may read this token")
