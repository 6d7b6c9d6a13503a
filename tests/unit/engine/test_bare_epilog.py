"""Epilogs that say little, or of which the journal knows nothing: by the marker, by the number, by the name."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.engine.state import Phase

from .node import Node, eventually
from .world import NAMESPACE, World


def forgets(world: World, node: Node) -> Node:
    """The node's next daemon, after its journal was lost."""
    node.stop()
    (node.config.journal_dir / "journal.sqlite").unlink()
    return world.successor(node)


def test_a_bare_epilog_releases_what_the_journal_knows(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    own = [str(pod["metadata"]["uid"]) for pod in world.pods()]
    epilog = node.bare_epilog(job)
    assert epilog.answer()["released"] == [7]
    assert epilog.scanned[0]["pods"] == own
    world.left_nothing()


@pytest.mark.parametrize(
    ("shown", "told"), [({"restart": 2, "start": 1_700_000_000}, [[7, 2, 1_700_000_000]]), (None, [[7]])]
)
def test_a_bare_epilog_without_journal_names_the_run_that_its_marker_shows(
    world: World, shown: dict[str, int] | None, told: list[list[int]]
) -> None:
    """Nothing but the marker knows it; where not even that tells, the job is named alone."""
    node = world.node()
    assert node.bare_epilog(world.job(), marker=shown).answer()["released_runs"] == told


def test_a_marker_names_the_run_where_slurm_has_changed_its_start(world: World) -> None:
    """slurmctld sets it anew when a node had to be powered up, between prolog and epilog."""
    node, job = world.node(), world.job()
    shown = {"restart": 0, "start": job.start - 60}
    assert node.epilog(job, marker=shown).answer()["released_runs"] == [[7, 0, job.start - 60]]


def test_a_marker_of_another_restart_says_nothing_about_this_run(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.epilog(job, marker={"restart": 1, "start": 5}).answer()["released_runs"] == [[7, 0, job.start]]


def test_the_epilog_of_a_requeued_job_is_that_of_the_run_which_its_marker_shows(world: World) -> None:
    """slurmd says the next restart count already, and perhaps the next start."""
    node, job = world.node(), world.job()
    world.running(node, job)
    shown = {"restart": 0, "start": job.start}
    requeued = node.epilog(replace(job, restart=1, start=job.start + 60), marker=shown)
    assert requeued.answer()["released_runs"] == [[7, 0, job.start]]
    assert list(node.engine.runs) == [job.key], "nothing is looked for under the number of a run that never was"


def test_a_bare_epilog_without_journal_sweeps_by_job_id(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    epilog = forgets(world, node).bare_epilog(job)
    assert epilog.answer()["released"] == [7]
    world.left_nothing()


def test_a_full_epilog_without_journal_releases_by_name(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    assert forgets(world, node).epilog(job).exit() == 0
    world.left_nothing()


def test_a_bare_epilog_of_a_job_that_never_was_here(world: World) -> None:
    assert world.node().bare_epilog(world.job()).answer()["released"] == [7]


def test_a_bare_epilog_without_journal_spares_the_run_that_has_begun_since(world: World) -> None:
    """slurmctld, having lost the job, may give its number again while the epilog of its abort still works. One with
    GPUs would wait for that at the door."""
    node, first, second = world.node(), world.job(), world.job(restart=1, gpus=0)
    world.running(node, first)
    node = forgets(world, node)
    listing = world.kube.faults.hold("list_workloads")
    epilog = node.bare_epilog(first)
    eventually(lambda: world.calls("list_workloads"))
    world.running(node, second)
    listing.set()
    assert epilog.answer()["released"] == [], "the marker is the second run's by now"
    assert epilog.exit() == 0
    assert world.workloads() == [second.workload]
    (pod,) = world.pods()
    assert pod["metadata"]["uid"] not in epilog.scanned[0]["pods"]
    assert node.epilog(second).exit() == 0


def test_a_bare_epilog_without_journal_spares_what_does_not_name_this_node(world: World) -> None:
    elsewhere, node, job = world.node("n2"), world.node("n1"), world.job("n2")
    world.running(elsewhere, job)
    assert node.bare_epilog(job).exit() == 0
    assert world.workloads() == [job.workload]
    assert elsewhere.epilog(job).exit() == 0


def test_a_bare_epilog_without_journal_deletes_a_pod_whose_workload_is_gone(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = forgets(world, node)
    world.cluster.rest()
    world.kube.remove("workload", NAMESPACE, job.workload)
    epilog = node.bare_epilog(job)
    eventually(lambda: world.calls("delete_pod"))
    world.cluster.play()
    assert epilog.exit() == 0
    world.left_nothing()


@pytest.mark.parametrize(("restart", "start"), [(1, 1_700_000_060), (0, 1_700_009_000)])
def test_the_epilog_of_a_run_that_a_restored_journal_does_not_know(
    world: World, tmp_path: Path, restart: int, start: int
) -> None:
    """The copy knows another run of the job, and that one is released: it says nothing of this one."""
    node, before = world.node(), world.job()
    world.running(node, before)
    assert node.epilog(before).exit() == 0
    copy = world.saved(node, tmp_path / "copy")
    node, job = world.successor(node), world.job(restart=restart, start=start)
    world.running(node, job)
    node = world.anew(node, copy)
    epilog = node.epilog(job)
    assert epilog.exit() == 0
    world.left_nothing()
    assert epilog.scanned, "its processes are looked for, too"


def test_an_epilog_ends_every_run_of_its_job(world: World) -> None:
    """Of the one that it names the journal knows nothing, and of the other no epilog ever came."""
    node, first = world.node(), world.job()
    world.running(node, first)
    assert node.epilog(world.job(restart=1)).exit() == 0
    assert node.run(first).phase is not Phase.RUNNING
    assert node.epilog(first).exit() == 0
    world.left_nothing()
