"""A journal of before knows other runs of a job than the one that is at work."""

from pathlib import Path

from bridge.engine.state import Phase

from .story import START
from .world import NAMESPACE, World


def test_an_old_journal_may_know_other_runs_of_the_job(world: World, tmp_path: Path) -> None:
    """One that was released under the same key, before job ids began anew, and one whose job was requeued since."""
    node = world.node()
    released, stale = world.job(start=START - 500), world.job(restart=1, start=START + 100)
    world.running(node, released)
    assert node.epilog(released).exit() == 0
    copied = world.saved(node, tmp_path / "released")
    node = world.successor(node)
    live = world.job()
    world.running(node, live)
    node = world.anew(node, copied)
    attach = node.attach(live)
    world.ends(live, 3)
    assert attach.exit() == 3
    assert node.epilog(live).exit() == 0

    world.running(node, stale)
    copied = world.saved(node, tmp_path / "stale")
    node = world.successor(node)
    assert node.epilog(stale).exit() == 0
    again = world.job(restart=2, start=START + 200)
    world.running(node, again)
    node = world.anew(node, copied)
    assert node.run(stale).phase is Phase.RUNNING
    attach = node.attach(again, restart=2)
    world.says(again, 0, "again")
    attach.until(lines=1)
    world.ends(again, 0)
    assert attach.exit() == 0


def test_a_run_that_the_journal_knows_as_released_is_not_adopted(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    workload = world.kube.get("workload", NAMESPACE, job.workload)
    assert node.epilog(job).exit() == 0
    world.left_nothing()
    world.kube.put("workload", {**workload, "metadata": {**workload["metadata"], "uid": "again"}})
    answer = node.ask(verb="attach", job=job.id)
    assert answer["kind"] == "waiting"
    said = "slurm-demo-7-0 is no more: this node's journal says that its run was released [run-ending]; "
    assert answer["sentence"].startswith(said)
