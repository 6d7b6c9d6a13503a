"""Epilogs over real sockets: twice, early, held by what is left; and the hook of a prolog that goes away."""

import json
import threading

import pytest

from bridge.engine import loop, wanted_release
from bridge.engine.state import Phase, Workload

from .clients import Job
from .node import Node, eventually
from .world import NAMESPACE, World


def waiting_prolog(world: World, node: Node, job: Job) -> None:
    """The node's own pod is ready, another node's prolog has not begun."""
    node.until(lambda run: run.own_pod is not None and run.own_pod.ready, job)
    assert world.workloads() == [job.workload]


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


def test_an_epilog_before_the_second_workload_is_there(world: World) -> None:
    """The first try's answer was lost, another node deletes what it made, and the second try is made behind that."""
    node, job = world.node(), world.job()
    created = world.kube.faults.hold("create_workload")
    prolog = node.prolog(job)
    eventually(lambda: world.calls("create_workload") == 1)
    manifest = json.loads(node.run(job).manifest)
    manifest["metadata"]["namespace"] = NAMESPACE
    first = world.kube.put("workload", manifest)["metadata"]
    epilog = node.epilog(job)
    node.until(lambda run: run.phase is Phase.RELEASE, job)
    eventually(lambda: world.calls("watch_pod") == 1)
    world.kube.mark_deleted("workload", NAMESPACE, first["name"], first["uid"])
    assert prolog.exit() == 0
    eventually(lambda: world.is_empty)
    assert epilog.waits
    created.set()
    assert epilog.exit() == 0
    world.left_nothing()
    assert world.workloads_ever() == 2


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


def test_a_workload_of_another_start_under_our_name_is_not_deleted_by_an_epilog(world: World) -> None:
    node, job = world.node(), world.job()
    stranger = {"metadata": {"name": job.workload, "namespace": NAMESPACE}, "spec": {"pytorchReplicaSpecs": {}}}
    world.cluster.rest()
    world.kube.put("workload", stranger)
    assert node.epilog(job).exit() == 0
    (kept,) = world.kube.all("workload")
    assert (kept["metadata"]["name"], kept["metadata"].get("deletionTimestamp")) == (job.workload, None)
