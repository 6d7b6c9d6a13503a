"""The daemon killed at every point of a run: the run goes on and ends as if nothing had happened."""

import threading
from dataclasses import replace

import pytest

from bridge.engine import overdue
from bridge.engine.inbox import Message, Stop
from bridge.engine.loop import Engine
from bridge.engine.state import Phase
from bridge.errors import Unavailable
from bridge.store.markers import Marker

from .node import Daemon, Node, eventually
from .world import NAMESPACE, World


def test_killed_before_and_after_every_line_of_the_journal(world: World) -> None:
    node, job = world.node(), world.job()
    node.perils.everywhere = True
    hook = node.prolog(job)
    assert hook.exit() == 0
    attach = node.attach(job)
    world.says(job, 0, *"abc")
    world.ends(job, 0)
    assert attach.exit() == 0
    assert attach.lines == [(0, "a"), (0, "b"), (0, "c")]
    assert node.epilog(job).answer()["released"] == [7]
    world.left_nothing()
    assert world.workloads_ever() == 1
    kinds = {kind for _, kind in node.perils.struck}
    # Not workload_created, gate_opened and workload_deleted: what was done before the kill is seen in the pod's or
    # workload's own state after it, so those lines need not be written a second time (each is struck by itself below).
    assert kinds >= {
        "prolog_began",
        "job_learned",
        "node_proven",
        "taken_up",
        "pod_seen",
        "epilog_began",
        "pods_clear",
        "scanned",
    }


def test_two_nodes_killed_everywhere(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    first.perils.everywhere = second.perils.everywhere = True
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    world.ends(job, 0, 3)
    assert first.attach(job).exit() == 3
    assert [hook.exit() for hook in (first.epilog(job), second.epilog(job))] == [0, 0]
    world.left_nothing()
    assert world.workloads_ever() == 1


@pytest.mark.parametrize("kind", ["job_learned", "workload_created", "pod_seen", "gate_opened"])
def test_killed_once_in_the_prolog(world: World, kind: str) -> None:
    node, job = world.node(), world.job()
    node.perils.kinds = {kind}
    assert node.prolog(job).exit() == 0
    # The gate's line may come after the prolog's answer. Struck after the line, too, unless the world shows already
    # what was done.
    eventually(lambda: node.perils.struck)
    assert world.workloads_ever() == 1
    eventually(lambda: node.replayed() == node.engine.runs)


def test_a_node_ends_whose_daemon_was_killed_a_moment_before(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon that is told is dead, and the next one is not there yet."""
    node, told, post, born = world.node(), threading.Event(), Engine.post, Daemon.__init__

    def noted(engine: Engine, message: Message) -> None:
        post(engine, message)
        if isinstance(message, Stop):
            told.set()

    def late(daemon: Daemon, of: Node) -> None:
        threading.Thread(target=of.stop).start()
        assert told.wait(5)
        born(daemon, of)

    monkeypatch.setattr(Engine, "post", noted)
    monkeypatch.setattr(Daemon, "__init__", late)
    node.crash()
    eventually(lambda: not node.thread.is_alive())


def test_the_answer_to_the_creation_is_lost(world: World) -> None:
    node, job = world.node(), world.job()
    world.kube.faults.lose_answer("create_workload", Unavailable("the connection broke"))
    assert node.prolog(job).exit() == 0
    assert world.calls("create_workload") == 2
    assert world.workloads_ever() == 1


def test_killed_while_the_answer_to_the_creation_is_under_way(world: World) -> None:
    node, job = world.node(), world.job()
    world.kube.faults.lose_answer("create_workload", Unavailable("the connection broke"))
    node.perils.kinds = {"failed"}
    assert node.prolog(job).exit() == 0
    assert len(node.perils.struck) >= 1
    assert world.workloads_ever() == 1


def test_killed_while_the_prolog_waits(world: World) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    batch = first.prolog(job)
    first.until(lambda run: run.own_pod is not None and run.own_pod.ready, job)
    before, after = first.crash()
    assert after[job.key].unattended is not None
    assert before[job.key] == replace(after[job.key], unattended=None)
    eventually(lambda: first.engine.waiting_hooks)
    assert batch.waits
    member = second.prolog(job)
    assert batch.exit() == member.exit() == 0
    assert [hook.exit() for hook in (first.epilog(job), second.epilog(job))] == [0, 0]


def test_killed_while_attach_reads_nothing_is_lost_or_doubled(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job).exit() == 0
    attach = node.attach(job)
    world.says(job, 0, "1", "2")
    attach.until(lines=2)
    before, after = node.crash()
    assert before == after
    world.says(job, 0, "3")
    attach.until(lines=3)
    node.crash()
    world.says(job, 0, "4")
    world.ends(job, 0)
    assert attach.exit() == 0
    assert attach.of(0) == ["1", "2", "3", "4"]
    assert node.epilog(job).exit() == 0


def test_killed_when_the_training_has_ended_and_attach_comes_late(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job).exit() == 0
    world.says(job, 0, "last words")
    world.ends(job, 5)
    node.until(lambda run: run.outcome, job)
    node.crash()
    attach = node.attach(job)
    assert attach.exit() == 5
    assert attach.lines == [(0, "last words")]
    assert node.epilog(job).exit() == 0


def test_killed_between_deletion_and_scan(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job).exit() == 0
    own = {str(pod["metadata"]["uid"]) for pod in world.pods()}
    epilog = node.epilog(job, may_scan=False)
    assert epilog.asked_to_scan.wait(5)
    world.left_nothing()
    before, after = node.crash()
    assert before == after
    assert after[job.key].phase is Phase.RELEASE
    assert epilog.waits, "a scan that was asked for and not told proves nothing"
    epilog.may_scan.set()
    assert epilog.exit() == 0
    assert [set(scan["pods"]) for scan in epilog.scanned] == [own, own]


def test_a_workload_that_somebody_deleted_while_no_daemon_was_there_is_noticed(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node.stop()
    world.kube.remove("workload", NAMESPACE, job.workload)
    world.kube.remove("pod", NAMESPACE, job.pod(0))
    successor = world.successor(node)
    attach = successor.attach(job)
    assert attach.exit() == 75
    assert attach.end is not None and "deleted while it ran" in attach.end["reason"]
    assert successor.epilog(job).exit() == 0


def test_a_daemon_that_was_stopped_well_goes_on_too(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.prolog(job).exit() == 0
    node.stop()
    world.ends(job, 0)
    successor = world.successor(node)
    assert successor.attach(job).exit() == 0
    assert successor.epilog(job).exit() == 0


def test_an_epilog_that_never_came_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hook was killed, a person gave the node back, and no job gets GPUs there."""
    monkeypatch.setattr(overdue, "is_overdue", lambda _, run, __: run.phase is Phase.RUNNING)
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2", gpus=0)
    hooks = [first.prolog(job), second.prolog(job)]
    assert [hook.exit() for hook in hooks] == [0, 0]
    second.reconciler.reconcile()
    assert second.run(job).phase is Phase.RUNNING, "its workload is there, and slurmctld may not be asked"
    assert first.epilog(job).exit() == 0
    eventually(lambda: world.is_empty)
    second.reconciler.reconcile()
    second.until(lambda run: run.phase is Phase.RELEASE, job)
    following = second.prolog(world.job("n2", id=8, gpus=0)).answer()
    assert (following["exit"], following["released"]) == (0, [7])
    assert second.run(job).phase is Phase.RELEASED


def test_the_pods_of_a_run_whose_epilog_never_came_go_by_its_owners_word(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overdue, "is_overdue", lambda _, run, __: run.phase is Phase.RUNNING)
    node, job = world.node(), world.job(gpus=0)
    world.running(node, job)
    node.reconciler.reconcile()
    assert node.run(job).phase is Phase.RUNNING, "its time limit was lengthened"
    world.rest.jobs[job.id] = replace(job.record(), states=frozenset({"CANCELLED"}))
    node.reconciler.reconcile()
    eventually(lambda: not world.pods())
    assert node.run(job).phase is Phase.RELEASE, "no hook has looked for its processes yet"
    following = node.prolog(world.job(id=8, gpus=0)).answer()
    assert (following["exit"], following["released"]) == (0, [7])


def test_an_epilog_that_never_came_and_a_lost_journal_leave_nothing(world: World) -> None:
    node, job = world.node(), world.job(gpus=0)
    world.running(node, job)
    node.markers[job.id] = Marker(job.restart, job.start, 2001, gpus=False, end=job.start + 60)
    for name in world.workloads():
        world.kube.remove("workload", NAMESPACE, name)
    for pod in world.pods():
        world.kube.remove("pod", NAMESPACE, pod["metadata"]["name"])
    node = world.anew(node)
    node.reconciler.reconcile()
    node.until(lambda run: run.phase is Phase.RELEASE, job)
    following = node.prolog(world.job(id=8, gpus=0)).answer()
    assert (following["exit"], following["released"]) == (0, [7])
