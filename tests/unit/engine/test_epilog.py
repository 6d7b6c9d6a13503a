"""Epilogs over real sockets: bare, twice, early, in an outage; and the hook of a prolog that goes away."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.engine import loop, wanted_release
from bridge.engine.state import Phase, Workload
from bridge.errors import Unavailable

from .clients import Job
from .node import Node, eventually
from .world import NAMESPACE, World

OUTAGE = Unavailable("no route to host")


def waiting_prolog(world: World, node: Node, job: Job) -> None:
    """The node's own pod is ready, another node's prolog has not begun."""
    node.until(lambda run: run.own_pod is not None and run.own_pod.ready, job)
    assert world.workloads() == [job.workload]


def forgets(world: World, node: Node) -> Node:
    """The node's next daemon, after its journal was lost."""
    node.stop()
    (node.config.journal_dir / "journal.sqlite").unlink()
    return world.successor(node)


# -- bare


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


# -- twice, early


def test_two_epilogs_at_once(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    first = node.epilog(job, may_scan=False)
    assert first.asked_to_scan.wait(5)
    second = node.bare_epilog(job)
    eventually(lambda: node.engine.waiting_hooks == 2)
    first.may_scan.set()
    assert first.exit() == second.exit() == 0
    world.left_nothing()


def test_an_epilog_after_the_epilog(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    assert node.epilog(job).exit() == node.epilog(job).exit() == 0


def test_an_epilog_while_the_prolog_still_waits(world: World) -> None:
    node, job = world.node(), world.job("n1", "n2")
    prolog = node.prolog(job)
    waiting_prolog(world, node, job)
    assert node.epilog(job).exit() == 0
    assert prolog.answer()["message"] == "the job is over (it ended while its prolog waited)"
    assert prolog.exit() == 0
    world.left_nothing()


def test_an_epilog_before_the_workload_is_there(world: World) -> None:
    """The creation is under way when consent ends; whatever comes of it is deleted."""
    node, job = world.node(), world.job()
    created = world.kube.faults.hold("create_workload")
    prolog = node.prolog(job)
    eventually(lambda: world.calls("create_workload") == 1)
    epilog = node.epilog(job)
    node.until(lambda run: run.phase is Phase.RELEASE, job)
    created.set()
    assert epilog.exit() == prolog.exit() == 0
    world.left_nothing()
    assert world.workloads_ever() == 1


# -- the prolog's hook goes away


@pytest.fixture
def hooks_are_missed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after ten seconds."""
    monkeypatch.setattr(loop, "_HOOK_PATIENCE", 0.05)


@pytest.mark.usefixtures("hooks_are_missed_soon")
def test_a_prolog_hook_that_vanishes_takes_the_workload_with_it(world: World) -> None:
    node, job = world.node(), world.job("n1", "n2")
    hook = node.mortal_prolog(job)
    waiting_prolog(world, node, job)
    hook.dies()
    node.until(lambda run: run.judgement, job)
    eventually(lambda: world.is_empty)
    assert node.epilog(job).exit() == 0


@pytest.mark.usefixtures("hooks_are_missed_soon")
def test_a_prolog_hook_that_vanished_with_the_daemon_takes_the_workload_with_it(world: World) -> None:
    node, job = world.node(), world.job("n1", "n2")
    hook = node.mortal_prolog(job)
    waiting_prolog(world, node, job)
    node.crash()
    hook.dies()
    eventually(lambda: world.is_empty)
    assert node.epilog(job).exit() == 0


@pytest.mark.usefixtures("hooks_are_missed_soon")
def test_a_prolog_hook_that_comes_again_is_not_missed(world: World) -> None:
    node, job = world.node(), world.job("n1", "n2")
    first = node.mortal_prolog(job)
    waiting_prolog(world, node, job)
    again = node.prolog(job)
    eventually(lambda: node.engine.waiting_hooks == 2)
    first.dies()
    eventually(lambda: node.engine.waiting_hooks == 1)
    threading.Event().wait(0.06)
    assert world.node("n2").prolog(job).exit() == 0
    assert again.exit() == 0
    assert node.run(job).judgement is None


# -- nothing but proof


def test_a_process_that_lives_on_holds_the_epilog(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    epilog = node.epilog(job, [(4711, "cgroup of the run's pod")])
    node.until(lambda run: run.leftovers, job)
    assert epilog.waits
    assert node.ask(verb="show", job=7)["run"]["leftovers"] == ["process 4711 (python): cgroup of the run's pod"]
    epilog.finds = []
    assert epilog.exit() == 0


def test_a_scan_that_cannot_look_holds_the_epilog(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    epilog = node.epilog(job)
    epilog.scan_error = "/proc cannot be read"
    node.until(lambda run: run.trouble == "/proc cannot be read", job)
    assert epilog.waits
    epilog.scan_error = None
    assert epilog.exit() == 0


def test_a_pod_that_does_not_end_holds_the_epilog(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.cluster.rest()
    epilog = node.epilog(job)
    node.until(lambda run: run.workload is Workload.DELETING, job)
    world.cluster.collect()
    node.until(lambda run: run.own_pod is not None and run.own_pod.deleting, job)
    assert epilog.waits and epilog.scanned == []
    world.cluster.play()
    assert epilog.exit() == 0


def test_a_pod_that_stays_because_its_kubelet_is_dead_is_told_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted_release, "_PROVE_ANYWAY", 0.05)
    node, job = world.node(), world.job()
    world.running(node, job)
    world.cluster.rest()
    unknown = {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    world.kube.change("node", "", "n1", conditions=[unknown])
    epilog = node.epilog(job)
    node.until(lambda run: "the kubelet of n1 is not Ready (Kubelet stopped" in run.trouble, job)
    assert node.ask(verb="show", job=7)["run"]["obstacle"].startswith(f"Kubernetes still shows {job.pod(0)}, and")
    assert epilog.waits
    world.cluster.play()
    assert epilog.exit() == 0


def test_root_is_told_what_keeps_a_run_of_which_only_the_number_is_known(world: World) -> None:
    node = world.node()
    epilog = node.bare_epilog(world.job(), [(4711, "holds /dev/fakegpu0 as uid 2001")])
    node.until(lambda run: run.leftovers, world.job())
    assert node.ask(verb="show", job=7)["kind"] == "error"
    node.peer_uid = 0
    shown = node.ask(verb="show", job=7)["run"]
    assert shown["obstacle"] == "still alive: process 4711 (python): holds /dev/fakegpu0 as uid 2001"
    epilog.finds = []
    assert epilog.exit() == 0


# -- outage


def test_an_outage_in_the_prolog_is_nobodys_fault(world: World) -> None:
    node, job = world.node(prolog_deadline=1.0), world.job()
    world.kube.break_down(OUTAGE)
    answer = node.prolog(job).answer()
    assert answer["exit"] == 0
    assert answer["message"].startswith("not started after 1 s: the API server does not answer (no route to host); ")
    epilog = node.epilog(job)
    world.kube.recover()
    assert epilog.exit() == 0


def test_an_outage_that_ends_before_the_deadline_is_waited_out(world: World) -> None:
    node, job = world.node(), world.job()
    world.kube.break_down(OUTAGE)
    hook = node.prolog(job)
    node.until(lambda run: run.tried("node") >= 2, job)
    assert hook.waits
    world.kube.recover()
    assert hook.exit() == 0
    assert world.workloads_ever() == 1


def test_an_outage_in_the_epilog_is_waited_out(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.kube.break_down(OUTAGE)
    epilog = node.epilog(job)
    node.until(lambda run: run.tried("delete") >= 2, job)
    assert epilog.waits and epilog.scanned == []
    (shown,) = node.ask(verb="status")["runs"]
    assert shown["obstacle"].startswith("the API server does not answer (no route to host); ")
    world.kube.recover()
    assert epilog.answer()["released"] == [7]
    world.left_nothing()


def test_an_outage_past_the_epilogs_deadline_keeps_the_node_from_the_next_job(world: World) -> None:
    node, job = world.node(epilog_deadline=1.5), world.job()
    world.running(node, job)
    world.kube.break_down(OUTAGE)
    answer = node.epilog(job).answer()
    assert (answer["exit"], answer["released"]) == (1, [])
    assert "not proven gone from this node" in answer["message"] and "no route to host" in answer["message"]
    world.kube.recover()
    assert node.epilog(job).exit() == 0, "slurmd asks again, or the admin does"
    world.left_nothing()


def test_a_lost_answer_to_the_deletion(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    world.kube.faults.lose_answer("delete_workload", OUTAGE)
    assert node.epilog(job).exit() == 0
    assert world.kube.faults.calls.count("delete_workload") <= 2


def test_a_workload_of_another_start_under_our_name_is_not_deleted_by_an_epilog(world: World) -> None:
    node, job = world.node(), world.job()
    stranger = {"metadata": {"name": job.workload, "namespace": NAMESPACE}, "spec": {"pytorchReplicaSpecs": {}}}
    world.cluster.rest()
    world.kube.put("workload", stranger)
    assert node.epilog(job).exit() == 0
    (kept,) = world.kube.all("workload")
    assert (kept["metadata"]["name"], kept["metadata"].get("deletionTimestamp")) == (job.workload, None)
