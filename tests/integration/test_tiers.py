"""Whose rights in Slurm a daemon has: a site that forbids `scontrol token` gives the bridge a token of its own."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from bridge.cli.tiers import ABILITIES

from .nodes import without_scontrol
from .rows import await_training, done, in_training, meets
from .specs import SCRIPT_UNTIL_GO, UNTIL_LET_GO, container_job
from .stack import NODES, Stack, eventually
from .tiers import Measured

_SCONTROL = "/usr/bin/scontrol"
_SHORT = 90  # seconds


@contextmanager
def users_make_no_tokens(stack: Stack) -> Iterator[None]:
    """As AuthAltParameters of the site's slurm.conf may say."""
    with stack.slurm_conf("/^AuthAltParameters=/ s/$/,disable_token_creation/"):
        assert "disable_token_creation" in stack.exec("slurmctld", "scontrol", "show", "config")
        yield


@contextmanager
def short_tokens(stack: Stack, node: str) -> Iterator[None]:
    """The hooks of this node get tokens of a minute and a half, which the daemon uses for half a minute."""
    script = f"""#!/bin/sh
case "$1 $2" in
"token username="*) set -- token "$2" lifespan={_SHORT} ;;
esac
exec {_SCONTROL}.away "$@"
"""
    stack.exec(node, "mv", _SCONTROL, f"{_SCONTROL}.away")
    try:
        stack.exec(node, "sh", "-c", f"cat > {_SCONTROL}; chmod 755 {_SCONTROL}", stdin=script)
        yield
    finally:
        stack.exec(node, "mv", "-f", f"{_SCONTROL}.away", _SCONTROL)


@contextmanager
def tier_of(stack: Stack, node: str, tier: str, timing: dict[str, float]) -> Iterator[None]:
    """This node's daemon has this tier."""
    with ExitStack() as given:
        rest: dict[str, Any] | None = None if tier == "none" else {}
        if tier in ("service", "administrator"):
            rest = {**given.enter_context(stack.service_token(tier, node)), "extend_time_limit": True}
        with stack.configured(node, slurmrest=rest, timing=timing):
            yield


def test_runs_without_their_owners_token_are_told_and_ended_with_an_operators(stack: Stack) -> None:
    with (
        stack.service_token("service") as tier,
        stack.configured(slurmrest=tier),
        without_scontrol(stack, "compute1"),
    ):
        assert json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))["tier"] == "service"
        job = stack.submit(container_job(stack.images["small"], "echo done"), "-c1", "-N1", "-w", "compute1")
        refused = stack.submit("kind: Sonata", "-c1", "-N1", "-w", "compute1")
        stack.await_ended([job, refused], 60)
        assert stack.state(refused) == "CANCELLED"
        assert stack.sacct(refused, "Comment").startswith("k8s=job.yaml | k8s: failed: ")
        assert "kind" in stack.output(refused)
        assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
        assert stack.output(job) == "done\n"
        assert stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: 1/1 ranks exited 0")


def test_where_users_make_no_tokens_a_new_daemon_has_none_and_the_next_tier_helps(stack: Stack) -> None:
    """The hook's is for root to make, who may. In tier owner one sentence says what is missing, and the job goes on."""
    with (
        users_make_no_tokens(stack),
        stack.service_token("service", "compute2") as tier,
        stack.configured("compute2", slurmrest=tier),
    ):
        jobs = [in_training(stack, node, "-c1") for node in NODES]
        await_training(stack, *jobs)
        assert "1/1 pods ready" in stack.comment(jobs[0]), "the hook's token is as good as ever"
        for node, job in zip(NODES, jobs, strict=True):
            stack.exec(node, "systemctl", "restart", "slurm-k8s-bridge")
            stack.let_go(job)
        stack.await_ended(jobs, 60)
    assert [stack.sacct(job, "State,ExitCode") for job in jobs] == ["COMPLETED|0:0"] * 2
    assert meets("slurm-no-token", done(stack, jobs[0], "compute1"))
    told = [stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: ") for job in jobs]
    assert told == [False, True]


def test_attach_brings_the_next_token_of_a_job_that_outlives_its_first(stack: Stack) -> None:
    """As of a job of thirty days: on one node its script attaches, on the other not."""
    spec = container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}")
    with short_tokens(stack, "compute1"), short_tokens(stack, "compute2"):
        attached = stack.submit(spec, "-N1", "-c1", "-w", "compute1")
        alone = stack.submit(spec, "-N1", "-c1", "-w", "compute2", script=f"touch here; {SCRIPT_UNTIL_GO}")
        await_training(stack, attached)
        eventually(lambda: stack.exec("login", "ls", f"{alone.directory}/here", check=False), 60, "the other's script")
        time.sleep(_SHORT - 60 + 1)  # the clock alone ends a token, and nobody is told
        stack.let_go(attached)
        stack.let_go(alone)
        eventually(lambda: meets("slurm-no-token", done(stack, alone, "compute2")), 60, "what has no token")
        stack.exec("login", "touch", f"{alone.directory}/go", user="ml")
        stack.await_ended([attached, alone], 60)
    told = [stack.sacct(job, "Comment").startswith("k8s=job.yaml | k8s: finished: ") for job in (attached, alone)]
    assert told == [True, False]


def test_where_no_hook_gets_a_token_status_says_why(stack: Stack) -> None:
    with without_scontrol(stack, "compute1"):
        job = stack.run(container_job(stack.images["small"], "true"), "-N1", "-c1", "-w", "compute1")
        tier = json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))["tier"]
    assert tier.startswith("none: no Slurm token: no scontrol beside slurmd") and "slurmrest.tier" in tier
    assert stack.sacct(job, "State,ExitCode,Comment") == "COMPLETED|0:0|k8s=job.yaml"
    stack.run(container_job(stack.images["small"], "true"), "-N1", "-c1", "-w", "compute1")
    assert json.loads(stack.exec("compute1", "bridgectl", "status", "-o", "json"))["tier"] == "owner"


@pytest.mark.timeout(420)
@pytest.mark.parametrize("tiers", [("none", "owner"), ("service", "administrator")], ids="-".join)
def test_what_works_in_which_tier(stack: Stack, tiers: tuple[str, str]) -> None:
    """Every cell of docs/reference/tiers.md, one tier on each node."""
    both = [Measured(stack, node, tier, {}) for node, tier in zip(NODES, tiers, strict=True)]
    with in_their_tiers(both, {"poll_period": 1.0}):
        for each in both:
            each.begin_ends()
        for each in both:
            each.see_ends()
            each.see_orphan()
    with in_their_tiers(both, {"prolog_deadline": 25.0, "poll_period": 1.0}), stack.registry_answering("503"):
        for each in both:
            each.begin_waits()
        for each in both:
            each.see_waits()
    with in_their_tiers(both, {"epilog_deadline": 8.0}):
        with ExitStack() as held:
            for each in both:
                each.begin_drain(held)
        for each in both:
            each.see_drain()
        stack.await_idle(60)
    for each in both:
        expected = {ability.name: ability.works_in(each.tier) for ability in ABILITIES}
        assert each.found == expected, f"tier {each.tier}; outputs {each.outputs}"


@contextmanager
def in_their_tiers(nodes: Sequence[Measured], timing: dict[str, float]) -> Iterator[None]:
    """Each node's daemon has its tier."""
    with ExitStack() as given:
        for each in nodes:
            given.enter_context(tier_of(each.stack, each.node, each.tier, timing))
            shown = json.loads(each.stack.exec(each.node, "bridgectl", "status", "-o", "json"))["tier"]
            assert shown.partition(":")[0] == each.tier, shown
        yield
