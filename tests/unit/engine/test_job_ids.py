"""A job's number that comes back, from a slurmctld that has lost its state or counted round: another run."""

from bridge import clock
from bridge.engine import events
from bridge.engine.state import Workload

from .node import eventually
from .world import World


def test_a_job_id_that_comes_back_waits_for_the_epilog_of_its_earlier_run(world: World) -> None:
    """Without GPUs no other job would have to."""
    node, old, new = world.node(), world.job(gpus=0), world.job(gpus=0, start=1_800_000_000)
    world.running(node, old)
    epilog = node.epilog(old, may_scan=False)
    assert epilog.asked_to_scan.wait(5)
    hook = node.prolog(new)
    eventually(lambda: node.engine.waiting_hooks == 2)
    assert node.run(old).mark.start == old.start
    epilog.may_scan.set()
    assert (epilog.exit(), hook.exit(), node.run(new).mark.start) == (0, 0, new.start)
    assert node.epilog(new).exit() == 0


def test_a_job_id_that_comes_back_is_another_run(world: World) -> None:
    node, old = world.node(), world.job()
    world.running(node, old)
    new = world.job(start=1_800_000_000)
    hook = node.prolog(new)
    assert hook.answer()["released"] == []
    assert len(hook.scanned) == 1
    assert world.workloads_ever() == 2
    run = node.run(new)
    assert run.allocation is not None and run.allocation.start_time == new.start
    eventually(lambda: node.replayed() == node.engine.runs)
    assert node.epilog(new).answer()["released"] == [7]
    world.left_nothing()


def test_a_late_word_about_the_run_that_had_the_job_id_before_is_not_of_the_new_one(world: World) -> None:
    node, old = world.node(), world.job()
    world.running(node, old)
    former = node.run(old)
    new = world.job(start=1_800_000_000)
    world.running(node, new)
    node.engine.came(former, events.WorkloadGone(clock.now()))
    node.engine.came(node.run(new), events.Attached(clock.now()))
    assert node.until(lambda run: run.attached, new).workload is Workload.LIVE


def test_the_output_of_the_old_run_of_a_job_id_is_not_shown_to_the_new_one(world: World) -> None:
    node, old = world.node(), world.job()
    world.running(node, old)
    world.says(old, 0, "secret of the old run")
    attach = node.attach(old)
    attach.until(lines=1)
    world.ends(old, 0)
    assert attach.exit() == 0
    world.kube.clear_log("slurm-jobs", old.pod(0))
    new = world.job(start=1_800_000_000)
    assert node.prolog(new).exit() == 0
    world.says(new, 0, "of the new run")
    world.ends(new, 0)
    attach = node.attach(new)
    assert attach.exit() == 0
    assert attach.lines == [(0, "of the new run")]


def test_a_job_id_that_comes_back_after_a_bare_epilog_is_another_run(world: World) -> None:
    node = world.node()
    assert node.bare_epilog(world.job()).exit() == 0
    world.running(node, world.job(start=1_800_000_000))
    assert world.workloads_ever() == 1


def test_the_epilog_of_an_old_run_is_answered_although_its_job_id_came_back(world: World) -> None:
    node, old = world.node(), world.job()
    world.running(node, old)
    epilog = node.epilog(old, may_scan=False)
    assert epilog.asked_to_scan.wait(5)
    new = world.job(start=1_800_000_000)
    hook = node.prolog(new)
    eventually(lambda: node.engine.waiting_hooks == 2)
    epilog.may_scan.set()
    assert epilog.exit() == hook.exit() == 0
