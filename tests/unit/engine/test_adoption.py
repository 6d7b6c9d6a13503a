"""A run that the journal has lost is learnt again from its own workload, by its marker or by slurmctld's word."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bridge import wellknown
from bridge.engine.state import Phase
from bridge.errors import Unavailable
from bridge.kube.api import Object
from bridge.store.markers import Marker

from .clients import OTHER, OWNER, Job
from .node import Node, eventually
from .story import START
from .world import NAMESPACE, World, config

HASTY = config(reconcile_period=0.03)


@pytest.mark.parametrize("code", [0, 3])
def test_an_attach_goes_on_after_the_journal_was_lost(world: World, code: int) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    attach = node.attach(job)
    world.says(job, 0, "before")
    attach.until(lines=1)
    node = world.anew(node)
    world.says(job, 0, "after")
    attach.until(lines=2)
    world.ends(job, code)
    assert attach.exit() == code
    assert attach.lines == [(0, "before"), (0, "after")]
    assert node.run(job).adopted
    assert node.epilog(job).exit() == 0
    world.left_nothing()


def test_the_comment_is_told_with_the_token_that_attach_brings(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    attach = node.attach(job, token="owner's")
    assert attach.connected.wait(10)
    world.ends(job, 0)
    assert attach.exit() == 0
    node.until(lambda run: run.reported == run.sentence, job)
    assert "finished: 1/1 ranks exited 0" in world.comment(job)


def test_every_node_learns_its_run_again_by_itself(world: World) -> None:
    nodes, job = [world.node("n1", HASTY), world.node("n2", HASTY)], world.job("n1", "n2")
    hooks = [node.prolog(job) for node in nodes]
    assert [hook.exit() for hook in hooks] == [0, 0]
    for node in nodes:
        node.reconciles = True
    nodes = [world.anew(node) for node in nodes]
    runs = [node.until(lambda run: run.adopted, job) for node in nodes]
    assert [(run.phase, run.rank) for run in runs] == [(Phase.RUNNING, 0), (Phase.RUNNING, 1)]
    assert [run.opened for run in runs] == [str(found["metadata"]["uid"]) for found in world.pods()]
    assert [run.allocation.gpus_here for run in runs if run.allocation] == [2, 2]
    world.ends(job, 0, 0)
    assert nodes[0].attach(job).exit() == 0
    epilogs = [node.epilog(job) for node in nodes]
    assert [hook.exit() for hook in epilogs] == [0, 0]
    world.left_nothing()


def test_a_pod_of_this_rank_on_another_node_was_not_let_through_here(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    (there,) = world.pods()
    there["spec"]["nodeName"] = "another"
    world.kube.put("pod", there)
    node = world.anew(node)
    attach = node.attach(job)
    assert node.until(lambda run: run.adopted, job).opened == ""
    world.ends(job, 0)
    assert attach.exit() == 0


def test_of_several_lost_runs_attach_is_led_to_the_latest(world: World) -> None:
    """The workload of the second one is still there, on its way out, when the tenth is at work."""
    node, earlier = world.node(), world.job(restart=2)
    world.running(node, earlier)
    kept = world.kube.get("workload", NAMESPACE, earlier.workload)
    assert node.epilog(earlier).exit() == 0
    latest = world.job(restart=10, start=START + 100)
    world.running(node, latest)
    world.kube.put("workload", kept)
    node = world.anew(node)
    attach = node.attach(latest)
    node.until(lambda run: run.adopted, latest)
    world.ends(latest, 3)
    assert attach.exit() == 3
    assert earlier.key not in node.engine.runs


def test_an_adopted_run_is_in_the_journal(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    attach = node.attach(job)
    node.until(lambda run: run.adopted and run.pods, job)
    node.crash()
    world.ends(job, 3)
    assert attach.exit() == 3
    assert node.run(job).adopted


def test_without_any_proof_attach_waits_and_says_so(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.wiped(node)
    attach = node.attach(job)
    eventually(lambda: attach.waits_for)
    assert "has lost its memory of job 7; its workload slurm-demo-7-0 goes on, but" in attach.waits_for[0]
    assert job.key not in node.engine.runs
    node.mark(job)
    world.ends(job, 3)
    assert attach.exit() == 3
    assert world.calls("delete_workload") == 0


def test_while_the_api_server_is_away_attach_waits(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    world.kube.break_down(Unavailable("connection refused"))
    attach = node.attach(job)
    eventually(lambda: attach.waits_for)
    assert attach.waits_for[0].partition(" [")[0].endswith("look for it in Kubernetes yet: connection refused")
    world.kube.recover()
    world.ends(job, 0)
    assert attach.exit() == 0


@pytest.mark.parametrize("wrong", [Marker(1, START, OWNER), Marker(0, START + 5, OWNER)])
def test_the_marker_of_another_run_proves_nothing(world: World, wrong: Marker) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    node.markers[job.id] = wrong
    assert node.ask(verb="attach", job=job.id)["kind"] == "waiting"
    assert job.key not in node.engine.runs


# -- without a marker: slurmctld's word alone


def unmarked(world: World) -> tuple[Node, Job]:
    """A run that was adopted without its marker."""
    node, job = world.node("n1", config(poll_period=0.02)), world.job()
    world.running(node, job)
    node = world.wiped(node)
    assert node.ask(verb="attach", job=job.id, token="owner's")["kind"] == "attached"
    assert node.run(job).unmarked
    return node, job


def test_slurmctlds_word_is_proof_enough_for_an_attach(world: World) -> None:
    node, job = unmarked(world)
    attach = node.attach(job, token="owner's")
    world.ends(job, 3)
    assert attach.exit() == 3


def over(job: Job, world: World) -> None:
    """slurmctld ends the job."""
    world.rest.jobs[job.id] = replace(world.rest.jobs[job.id], states=frozenset({"COMPLETED", "COMPLETING"}))


def forgotten(job: Job, world: World) -> None:
    """slurmctld forgets the job."""
    del world.rest.jobs[job.id]


@pytest.mark.parametrize("end", [over, forgotten])
def test_where_no_epilog_comes_slurmctlds_word_ends_the_run(world: World, end: Callable[[Job, World], None]) -> None:
    node, job = unmarked(world)
    end(job, world)
    node.until(lambda run: run.phase is Phase.RELEASED, job)
    world.left_nothing()


@pytest.mark.parametrize(
    ("told", "why"),
    [({"states": frozenset({"FAILED"})}, "its job is over"), ({"user_id": 9}, "shows another user's job")],
)
def test_a_job_that_is_over_or_another_users_is_not_adopted(world: World, told: dict[str, Any], why: str) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    world.rest.jobs[job.id] = replace(job.record(), **told)
    answer = node.ask(verb="attach", job=job.id, token="owner's")
    assert answer["kind"] == "waiting"
    assert why in answer["sentence"]
    assert job.key not in node.engine.runs


# -- what is said where there is no run


def test_another_users_lost_run_cannot_be_told_from_none(world: World) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    node.peer_uid = OTHER
    hidden, none = node.ask(verb="attach", job=7), node.ask(verb="attach", job=8)
    assert hidden == none | {"sentence": none["sentence"].replace("job 8", "job 7")}
    assert none["unknown"] is True


def test_a_marker_without_a_workload_is_said_as_it_is(world: World) -> None:
    node, job = world.node(), world.job()
    node.mark(job)
    answer = node.ask(verb="attach", job=job.id)
    assert (answer["kind"], answer.get("unknown")) == ("error", None)
    assert "has lost its memory of job 7, and Kubernetes has no workload of it (any more)" in answer["sentence"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda item: item["spec"]["pytorchReplicaSpecs"]["Worker"].update(template={}),
        lambda item: item["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["securityContext"].clear(),
        lambda item: item["metadata"]["annotations"].update({wellknown.ANNOTATION_NODES: "elsewhere"}),
        lambda item: item["metadata"]["labels"].update({wellknown.LABEL_RUN: "another"}),
    ],
)
def test_an_object_that_the_bridge_did_not_make_is_no_run(world: World, edit: Callable[[Object], object]) -> None:
    node, job = world.node(), world.job()
    world.running(node, job)
    node = world.anew(node)
    world.kube.edit("workload", NAMESPACE, job.workload, edit)
    assert "Kubernetes has no workload of it" in node.ask(verb="attach", job=job.id)["sentence"]
    assert job.key not in node.engine.runs
