"""The API server does not answer, before a run, at its end, or once."""

from bridge.errors import Unavailable

from .world import World

OUTAGE = Unavailable("no route to host")


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
