"""A node that is at fault, over a real engine: it drains itself, tells why, and comes back."""

import pytest

from bridge.engine import wanted
from bridge.engine.state import Phase
from bridge.errors import Unavailable

from .node import Node
from .world import NAMESPACE, World

REFUSED = "http://127.0.0.1:10248/healthz: Connection refused"


def quick(world: World, name: str = "n1", prolog_deadline: float = 300.0, patience: float = 0.15) -> Node:
    """A node that soon believes what it sees. After a drain its epilog has no more time than that."""
    timing = {"node_patience": patience, "boot_grace": 0.001, "poll_period": 0.05, "prolog_deadline": prolog_deadline}
    return world.node(name, None, **timing)


def dead(world: World, node: Node) -> None:
    """The kubelet of this node dies."""
    world.cluster.bury(node.name)
    node.kubelet.fault = REFUSED


def told(world: World) -> list[tuple[str, str]]:
    """The nodes that told of a fault, and of which."""
    told = world.kube.events_because(NAMESPACE, "SlurmNodeFault")
    return [(event["source"]["host"], event["message"]) for event in told]


def test_a_node_whose_kubelet_is_dead_drains_itself_and_lets_the_job_go(world: World) -> None:
    first, second, job = quick(world, "n1"), quick(world, "n2"), world.job("n1", "n2")
    dead(world, second)
    hooks = [first.prolog(job), second.prolog(job)]
    answer = hooks[1].answer()
    assert answer["exit"] == 1 and "the kubelet of n2 is dead" in answer["message"]
    ((host, message),) = told(world)
    assert (host, message) == ("n2", answer["message"])
    world.rest.update(job.id, states=frozenset({"PENDING", "REQUEUED", "COMPLETING"}))
    assert hooks[0].exit() == 0
    assert world.rest.faults.calls.count("cancel") == 0
    assert first.epilog(job).exit() == 0
    epilog = second.epilog(job)
    answer = epilog.answer()
    assert answer["exit"] == 1 and "not proven gone from this node after 0 s" in answer["message"]
    assert not epilog.scanned and second.run(job).phase is Phase.RELEASE


def test_a_repaired_node_takes_the_same_job_again(world: World) -> None:
    node, job = quick(world), world.job()
    dead(world, node)
    assert node.prolog(job).exit() == 1
    assert node.epilog(job).exit() == 1
    world.cluster.revive("n1")
    node.kubelet.fault = ""
    again = world.job(restart=1)
    hook = node.prolog(again)
    assert hook.exit() == 0 and len(hook.scanned) == 1, "nobody comes in before the first run is proven gone"
    assert node.run(job).phase is Phase.RELEASED
    assert node.epilog(again).exit() == 0
    world.left_nothing()


@pytest.mark.parametrize("gone", [False, True], ids=["not-ready", "without-a-node"])
def test_a_member_lets_go_of_a_run_whose_batch_node_is_lost(world: World, gone: bool) -> None:
    first, second, job = quick(world, "n1"), quick(world, "n2"), world.job("n1", "n2")
    world.cluster.bury("n1")
    world.cluster.bury("n2")
    hook = first.mortal_prolog(job)
    first.until(lambda run: run.workload_uid, job)
    first.stop()
    member = second.prolog(job)
    second.until(lambda run: run.looks >= 3, job)
    assert member.waits, "its node is well, and so is the batch node's"
    if gone:
        world.kube.remove("node", "", "n1")
    else:
        unknown = [{"type": "Ready", "status": "Unknown"}]
        world.kube.change("node", "", "n1", conditions=unknown)
    assert member.exit() == 0
    hook.dies()


def test_status_says_why_until_a_pod_has_started_here_again(world: World) -> None:
    node, job = quick(world), world.job()
    dead(world, node)
    sentence = node.prolog(job).answer()["message"]
    node.crash()
    node.peer_uid = 0
    fault = node.ask(verb="status")["last_fault"]
    assert (fault["job"], fault["phase"], fault["sentence"]) == (job.id, "prolog", sentence)
    node.peer_uid = 2001
    assert node.ask(verb="status")["last_fault"] is None, "root's business"
    node.peer_uid = 0
    assert node.epilog(job).exit() == 1
    assert node.ask(verb="status")["last_fault"]["sentence"] == sentence, "the cause, not what came of it"
    world.cluster.revive("n1")
    node.kubelet.fault = ""
    assert node.foreign_prolog(8).exit() == 0
    assert node.ask(verb="status")["last_fault"] is not None, "no pod has started yet"
    again = world.job(restart=1)
    assert node.prolog(again).exit() == 0
    assert node.ask(verb="status")["last_fault"] is None
    assert node.epilog(again).exit() == 0


def test_a_disk_that_was_full_before_the_job_came_drains_the_node(world: World) -> None:
    node, job = quick(world, patience=1.0), world.job()
    node.full_disk = "/var/lib/containerd has 3 MiB free of 204800"
    world.cluster.rest()  # nothing is scheduled
    answer = node.prolog(job).answer()
    assert (
        answer["exit"] == 1
        and f"a disk of n1 is full, and was before this job came: {node.full_disk}" in answer["message"]
    )
    world.cluster.play()
    assert node.epilog(job).exit() == 0


def test_a_disk_that_fills_up_while_the_pod_starts_is_no_fault_of_the_node(world: World) -> None:
    node, job = quick(world), world.job()
    world.cluster.rest()
    hook = node.prolog(job)
    node.until(lambda run: run.node_proven, job)
    node.full_disk = "/var/lib/containerd has 3 MiB free of 204800"
    looks = node.run(job).looks
    node.until(lambda run: run.looks >= looks + 4, job)
    assert hook.waits and not node.run(job).accusation
    world.cluster.play()
    assert hook.exit() == 0
    assert node.epilog(job).exit() == 0


def test_missing_gpus_drain_the_node_once_it_has_been_up_for_a_while(world: World) -> None:
    node, job = quick(world, patience=1.0), world.job()
    world.cluster.add_node("n1", boot_id="boot-n1", gpus=1)
    answer = node.prolog(job).answer()
    assert answer["exit"] == 1
    assert "1 nvidia.com/gpu where Slurm gave 2 on n1; look at the device plugin" in answer["message"]
    assert world.workloads_ever() == 0
    assert node.epilog(job).exit() == 0


def test_a_node_of_which_slurm_gave_only_some_gpus_keeps_its_gate_closed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch node's two GPUs are all that it has, and so it makes the workload."""
    monkeypatch.setattr(wanted, "_POD_EVENTS_AFTER", 0.05)
    first, second, job = quick(world, "n1"), quick(world, "n2"), world.job("n1", "n2")
    world.cluster.add_node("n2", boot_id="boot-n2", gpus=4)
    hooks = [first.prolog(job), second.prolog(job)]
    answer = hooks[0].answer()
    assert answer["exit"] == 0
    assert "Slurm gave 2 of the 4 GPUs of n2, but a pod cannot be held to some of them" in answer["message"]
    assert hooks[1].exit() == 0
    assert world.rest.faults.calls.count("cancel") == 1
    assert second.run(job).opened == "" and first.run(job).opened != ""
    assert first.epilog(job).exit() == second.epilog(job).exit() == 0
    world.left_nothing()


def test_missing_gpus_soon_after_a_boot_are_waited_for(world: World) -> None:
    node, job = world.node(node_patience=0.05, boot_grace=1e12), world.job()
    world.cluster.add_node("n1", boot_id="boot-n1", gpus=0)
    hook = node.prolog(job)
    node.until(lambda run: run.looks >= 6, job)
    assert hook.waits and not node.run(job).accusation
    world.cluster.add_node("n1", boot_id="boot-n1", gpus=2)
    assert hook.exit() == 0
    assert node.epilog(job).exit() == 0


def test_a_kubelet_that_only_the_health_port_misses_is_no_fault(world: World) -> None:
    node, job = world.node(node_patience=0.05), world.job()
    node.kubelet.fault = REFUSED
    world.cluster.rest()  # nothing is scheduled
    hook = node.prolog(job)
    node.until(lambda run: run.looks >= 6, job)
    assert hook.waits and not node.run(job).accusation
    world.cluster.play()
    assert hook.exit() == 0
    assert node.epilog(job).exit() == 0


def test_of_a_fleet_that_breaks_at_once_only_so_many_nodes_are_drained(world: World) -> None:
    for name in ("n7", "n8", "n9"):
        tell_fault(world, name)
    node, job = quick(world, prolog_deadline=2.0), world.job()
    dead(world, node)
    answer = node.prolog(job).answer()
    assert answer["exit"] == 0 and "3 other nodes met such a fault a moment ago" in answer["message"]


def test_a_fault_that_a_fleet_shares_is_waited_for_to_its_end(world: World) -> None:
    for name in ("n7", "n8", "n9"):
        tell_fault(world, name)
    node, job = quick(world), world.job()
    world.cluster.add_node("n1", boot_id="boot-n1", gpus=0)
    hook = node.prolog(job)
    node.until(lambda run: run.faulty_others == 3, job)
    world.cluster.add_node("n1", boot_id="boot-n1", gpus=2)
    assert hook.exit() == 0
    assert not node.run(job).accusation and node.run(job).ready_at
    assert node.epilog(job).exit() == 0
    world.left_nothing()


def test_faults_of_long_ago_and_of_this_node_do_not_count(world: World) -> None:
    for name in ("n5", "n6", "n7"):
        tell_fault(world, name, "2026-01-01T00:00:00Z")
    tell_fault(world, "n1")
    tell_fault(world, "n2")
    node, job = quick(world), world.job()
    dead(world, node)
    assert node.prolog(job).exit() == 1
    assert node.run(job).faulty_others == 1
    assert node.epilog(job).exit() == 1


def test_a_fault_is_told_once_although_the_answer_was_lost(world: World) -> None:
    node, job = quick(world), world.job()
    dead(world, node)
    world.kube.faults.lose_answer("create_event", Unavailable("connection reset"))
    assert node.prolog(job).exit() == 1
    assert len(told(world)) == 1
    assert node.epilog(job).exit() == 1


def test_an_api_server_that_is_down_drains_nobody(world: World) -> None:
    node, job = quick(world, prolog_deadline=2.0), world.job()
    dead(world, node)
    hook = node.prolog(job)
    node.until(lambda run: run.node_fault is not None, job)
    world.kube.break_down(Unavailable("connection refused"))
    assert hook.exit() == 0
    world.kube.recover()


def test_a_daemon_killed_before_its_verdict_comes_to_the_same_one(world: World) -> None:
    node, job = quick(world), world.job()
    dead(world, node)
    hook = node.prolog(job)
    node.until(lambda run: run.node_fault is not None, job)
    node.crash()
    assert hook.exit() == 1
    assert len(told(world)) == 1
    assert node.epilog(job).exit() == 1


def tell_fault(world: World, node: str, created: str = "") -> None:
    """A node told of a fault of its own."""
    metadata = {"name": f"slurm-demo-1-0-node-fault-{node}", "namespace": NAMESPACE}
    event = {"reason": "SlurmNodeFault", "source": {"host": node}, "involvedObject": {}}
    world.kube.put("event", event | {"metadata": metadata | ({"creationTimestamp": created} if created else {})})
