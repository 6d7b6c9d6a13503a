"""A journal is lost while a prolog waits: what the earlier daemon has made is gone before the epilog is over."""

from collections.abc import Callable

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Phase
from bridge.errors import Unavailable
from bridge.job.faults import Verdict

from .clients import Job, MortalHook
from .node import Node
from .story import Story, batch, member
from .world import World


def began_again(world: World, node: Node, job: Job) -> tuple[Node, MortalHook]:
    """The next daemon, whose journal is empty, and the hook that is older than it; its slurmrestd is away, so that it
    comes to no workload of its own."""
    world.cluster.rest()  # the operator is slow
    asked = job.prolog(node.name)
    node.markers[job.id] = None
    hook = MortalHook(node.hook_socket, asked)
    node.until(lambda run: run.workload_uid, job)
    hook.dies()
    world.rest.faults.outage = Unavailable("connection refused")
    node = world.anew(node)
    hook = MortalHook(node.hook_socket, asked)
    node.until(lambda run: run.phase is Phase.PROLOG, job)
    world.cluster.play()
    return node, hook


def test_the_epilog_deletes_what_was_made(world: World) -> None:
    job = world.job()
    node, hook = began_again(world, world.node(), job)
    hook.dies()
    assert node.epilog(job).exit() == 0
    world.left_nothing()


def test_so_it_does_when_the_job_is_over_before_anything_is_made_anew(world: World) -> None:
    job = world.job()
    node, hook = began_again(world, world.node(), job)
    world.rest.update(job.id, states=frozenset({"CANCELLED"}))
    world.rest.faults.outage = None
    assert hook.hears()["exit"] == 0
    hook.dies()
    assert node.epilog(job).exit() == 0
    world.left_nothing()


@pytest.mark.parametrize("whose", [batch, member])
def test_its_pods_are_not_taken_for_gone_before_its_workload_is(whose: Callable[[], Story]) -> None:
    """A member's gate may have been opened, and its pod be on its way to this node."""
    story = whose().began(older=True).tell(events.EpilogBegan(101.0))
    assert not story.run.pods_clear and not story.wants(do.ProveGone) and not story.wants(do.ScanNode)
    story.tell(events.WorkloadGone(101.0))
    assert story.wants(do.ProveGone)
    assert story.replayed() == story.run


def test_a_refusal_says_nothing_of_what_was_made_before() -> None:
    """It may be what fills the quota."""
    story = batch(1).began(older=True).learned().tell(events.Refused(100.0, "exceeded quota", "quota", Verdict.JOB))
    assert len(story.wants(do.DeleteWorkload)) == 1


def test_a_hook_that_is_younger_needs_no_proof_of_what_nobody_made() -> None:
    story = batch().began().tell(events.EpilogBegan(101.0))
    assert story.run.pods_clear
