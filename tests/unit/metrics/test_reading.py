"""What is read off the daemon when somebody asks."""

import base64
import json
import time
from pathlib import Path

import pytest

from bridge import clock
from bridge.engine.events import EpilogBegan, HookLeft
from bridge.engine.health import KUBERNETES
from bridge.engine.orphans import Finding, Seen, State
from bridge.engine.reconciler import Report, Stray
from bridge.errors import Unavailable
from bridge.job.faults.servers import of_kubernetes
from bridge.kube.lifetimes import Life
from bridge.kube.standing import Standing
from bridge.slurmrest.service import ServiceToken
from tests.certificates import new_authority
from tests.unit.engine.node import Node, eventually
from tests.unit.engine.story import CONFIG
from tests.unit.engine.world import World

from .given import Given


def test_runs_by_phase_and_how_long_the_oldest_waits(world: World) -> None:
    node, job = world.node(), world.job()
    given = Given(node)
    assert given.value("known_runs", phase="running") == 0.0
    assert given.value("oldest_seconds", phase="release") == 0.0
    world.running(node, job)
    assert given.value("known_runs", phase="running") == 1.0
    epilog = node.epilog(job, may_scan=False)
    eventually(lambda: given.value("known_runs", phase="release") == 1.0)
    assert given.value("waiting_hooks") == 1.0
    eventually(lambda: (given.value("oldest_seconds", phase="release") or 0.0) >= 0.02)
    epilog.may_scan.set()
    assert epilog.exit() == 0
    eventually(lambda: given.value("waiting_hooks") == 0.0)


def test_slurmd_does_not_wait_for_a_run_that_its_prologs_hook_has_left(world: World) -> None:
    node, job = world.node(), world.job("n1", "n2")
    given = Given(node)
    hook = node.mortal_prolog(job)
    node.until(lambda run: run.workload_uid, job)
    assert (given.value("oldest_seconds", phase="prolog") or 0.0) > 0.0
    node.engine.happened(job.key, HookLeft(clock.now()))
    node.until(lambda run: run.judgement, job)
    assert given.value("known_runs", phase="prolog") == 1.0
    assert given.value("oldest_seconds", phase="prolog") == 0.0
    hook.dies()
    assert node.epilog(job).exit() == 0


def away(node: Node, seconds: float) -> None:
    """The API server has not answered for so long."""
    error = Unavailable("connection refused")
    executor = node.engine._executor
    assert executor is not None
    for at in range(int(seconds), -1, -30):
        executor.health.heard(KUBERNETES, of_kubernetes(error), error, clock.now() - at)


@pytest.mark.parametrize(("seconds", "is_open"), [(30.0, 0.0), (90.0, 1.0)])
def test_the_breaker_and_for_how_long_a_server_is_away(world: World, seconds: float, is_open: float) -> None:
    node = world.node()
    given = Given(node)
    assert given.value("breaker_open") == 0.0
    away(node, seconds)
    assert given.value("server_down_seconds", server="kubernetes", namespace="") == pytest.approx(seconds, abs=5.0)
    assert given.value("breaker_open") == is_open


def test_the_journals_size_and_its_room(world: World) -> None:
    node, job = world.node(), world.job()
    given = Given(node)
    before = given.value("journal_bytes") or 0.0
    world.running(node, job)
    assert (given.value("journal_bytes") or 0.0) > before > 0.0
    assert (given.value("journal_free_bytes") or 0.0) > 0.0


def test_what_is_left_over(world: World) -> None:
    given = Given(world.node())
    seen = Seen("slurm-demo-7-0", "uid", None, 0, ("n1",), False, "slurm-jobs")
    findings = (Finding(seen, State.ORPHAN, "over"), Finding(seen, State.UNCONFIRMED, "nobody knows"))
    given.report = lambda: Report(clock.now(), findings, strays=(Stray("pod", "uid", "run"),))
    assert given.value("workloads", state="orphan") == given.value("workloads", state="unconfirmed") == 1.0
    assert given.value("workloads", state="live") == 0.0
    assert given.value("stray_pods") == 1.0
    assert given.value("reconciled_timestamp_seconds") == pytest.approx(time.time(), abs=5.0)


def test_a_run_that_was_not_proven_gone(world: World) -> None:
    node, job = world.node(epilog_deadline=0.3), world.job()
    given = Given(node)
    world.running(node, job)
    assert node.epilog(job, [(77, "python")]).exit() == 1
    assert given.value("unproven_runs") == 1.0
    assert given.value("leftover_processes") == 1.0
    assert given.value("node_given_up") == 1.0


def test_a_run_that_ended_without_a_hook_holds_no_node_up(world: World) -> None:
    """The next hook proves it; until then no job begins here, and none waits."""
    node, job = world.node(epilog_deadline=0.05), world.job()
    given = Given(node)
    world.running(node, job)
    node.engine.happened(job.key, EpilogBegan(clock.now(), awaited=False))
    node.until(lambda run: run.epilog_answer, job)
    assert given.value("known_runs", phase="release") == 1.0
    assert given.value("oldest_seconds", phase="release") == given.value("unproven_runs") == 0.0


def token(**claims: float) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{body}.x"


def test_when_tokens_and_certificates_end(world: World, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"SLURM_JWT={token(iat=1_900_000_000, exp=2_000_000_000)}\n")
    file.chmod(0o600)
    given = Given(world.node(), ServiceToken("op", file))
    given.standing = Standing("token", Life(1_000.0, 2_000.0), ahead=-7.0)
    assert given.value("expiry_timestamp_seconds", what="kubernetes token") == 2_000.0
    assert given.value("valid_from_timestamp_seconds", what="kubernetes token") == 1_000.0
    assert given.value("expiry_timestamp_seconds", what="slurm token") == 2e9
    assert given.value("clock_ahead_seconds") == -7.0
    file.chmod(0o644)
    given.standing = Standing("client certificate", Life(0.0, 3_000.0))
    assert given.value("expiry_timestamp_seconds", what="slurm token") is None
    assert given.value("expiry_timestamp_seconds", what="kubernetes client certificate") == 3_000.0
    assert given.value("valid_from_timestamp_seconds", what="kubernetes client certificate") is None


def test_when_the_authority_of_slurmrestd_ends(world: World, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(new_authority().certificate)
    slurmrest = CONFIG.slurmrest
    assert slurmrest is not None
    config = CONFIG.model_copy(update={"slurmrest": slurmrest.model_copy(update={"ca_file": file})})
    given = Given(world.node("n2", config))
    ends = given.value("expiry_timestamp_seconds", what="slurmrestd authority")
    assert ends == pytest.approx(time.time() + 2 * 86400, abs=3600)
    file.write_text("no certificate")
    assert given.value("expiry_timestamp_seconds", what="slurmrestd authority") is None
