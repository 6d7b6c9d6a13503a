"""Whose rights in Slurm a daemon has: a site that forbids `scontrol token` gives the bridge a token of its own."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from bridge.cli.tiers import ABILITIES

from .nodes import without_scontrol
from .specs import container_job
from .stack import NODES, Stack
from .tiers import Measured


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


@pytest.mark.timeout(420)
@pytest.mark.parametrize(
    ("tiers", "deadline"),
    [(("none", "owner"), 25.0), (("service", "administrator"), 70.0)],
    ids=["none-owner", "service-administrator"],
)
def test_what_works_in_which_tier(stack: Stack, tiers: tuple[str, str], deadline: float) -> None:
    """Every cell of docs/tiers.md, one tier on each node."""
    both = [Measured(stack, node, tier, {}) for node, tier in zip(NODES, tiers, strict=True)]
    with in_their_tiers(both, {"prolog_deadline": deadline, "poll_period": 1.0}):
        ends_and_waits(stack, both)
    with in_their_tiers(both, {"epilog_deadline": 8.0}):
        with ExitStack() as held:
            for each in both:
                each.begin_drain(held)
        for each in both:
            each.see_drain()
        stack.await_idle(60)
    for each in both:
        assert each.found == {ability.name: ability.works_in(each.tier) for ability in ABILITIES}, each.tier


@contextmanager
def in_their_tiers(nodes: Sequence[Measured], timing: dict[str, float]) -> Iterator[None]:
    """Each node's daemon has its tier."""
    with ExitStack() as given:
        for each in nodes:
            given.enter_context(tier_of(each.stack, each.node, each.tier, timing))
            shown = json.loads(each.stack.exec(each.node, "bridgectl", "status", "-o", "json"))["tier"]
            assert shown.partition(":")[0] == each.tier, shown
        yield


def ends_and_waits(stack: Stack, both: Sequence[Measured]) -> None:
    """All but the drains."""
    for each in both:
        each.begin_ends()
    for each in both:
        each.see_ends()
        each.see_orphan()
    with stack.registry_answering("503"):
        for each in both:
            each.begin_waits()
        for each in both:
            each.see_waits()
