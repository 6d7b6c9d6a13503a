"""A run that the journal has lost is learnt again from its own workload, by its marker or by slurmctld's word."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge import wellknown
from bridge.config import Config
from bridge.engine import adoption
from bridge.engine.state import Phase
from bridge.errors import Unavailable
from bridge.kube.api import Object
from bridge.store.markers import Marker

from .clients import Job
from .node import Node, eventually
from .story import START
from .world import NAMESPACE, World, config

OWNER, OTHER = 2001, 2002
HASTY = config(reconcile_period=0.03)


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """ml has an account here, whatever machine runs the tests."""
    monkeypatch.setattr(adoption, "_user", {OWNER: "ml", OTHER: "other"}.get)


def marked(node: Node, job: Job) -> None:
    """The hook has left its marker."""
    node.markers[job.id] = Marker(job.restart, job.start, OWNER)


def training(world: World, node: Node, job: Job) -> None:
    """The job's prolog has ended well, and its marker is there."""
    marked(node, job)
    world.running(node, job)


@pytest.mark.parametrize("code", [0, 3])
def test_an_attach_goes_on_after_the_journal_was_lost(world: World, code: int) -> None:
    node, job = world.node(), world.job()
    training(world, node, job)
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
    training(world, node, job)
    node = world.anew(node)
    attach = node.attach(job, token="owner's")
    assert attach.connected.wait(10)
    world.ends(job, 0)
    assert attach.exit() == 0
    node.until(lambda run: run.reported == run.sentence, job)
    assert "finished: 1/1 ranks exited 0" in world.comment(job)


def test_every_node_learns_its_run_again_by_itself(world: World) -> None:
    nodes, job = [world.node("n1", HASTY), world.node("n2", HASTY)], world.job("n1", "n2")
    for node in nodes:
        marked(node, job)
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
    training(world, node, job)
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
    training(world, node, earlier)
    kept = world.kube.get("workload", NAMESPACE, earlier.workload)
    assert node.epilog(earlier).exit() == 0
    latest = world.job(restart=10, start=START + 100)
    training(world, node, latest)
    world.kube.put("workload", kept)
    node = world.anew(node)
    attach = node.attach(latest)
    node.until(lambda run: run.adopted, latest)
    world.ends(latest, 3)
    assert attach.exit() == 3
    assert earlier.key not in node.engine.runs


def test_an_adopted_run_is_in_the_journal(world: World) -> None:
    node, job = world.node(), world.job()
    training(world, node, job)
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
    marked(node, job)
    world.ends(job, 3)
    assert attach.exit() == 3
    assert world.calls("delete_workload") == 0


def test_while_the_api_server_is_away_attach_waits(world: World) -> None:
    node, job = world.node(), world.job()
    training(world, node, job)
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
    training(world, node, job)
    node = world.anew(node)
    world.rest.jobs[job.id] = replace(job.record(), **told)
    answer = node.ask(verb="attach", job=job.id, token="owner's")
    assert answer["kind"] == "waiting"
    assert why in answer["sentence"]
    assert job.key not in node.engine.runs


# -- a journal of before


def test_an_old_journal_may_know_other_runs_of_the_job(world: World, tmp_path: Path) -> None:
    """One that was released under the same key, before job ids began anew, and one whose job was requeued since."""
    node = world.node()
    released, stale = world.job(start=START - 500), world.job(restart=1, start=START + 100)
    training(world, node, released)
    assert node.epilog(released).exit() == 0
    copied = world.saved(node, tmp_path / "released")
    node = world.successor(node)
    live = world.job()
    training(world, node, live)
    node = world.anew(node, copied)
    attach = node.attach(live)
    world.ends(live, 3)
    assert attach.exit() == 3
    assert node.epilog(live).exit() == 0

    training(world, node, stale)
    copied = world.saved(node, tmp_path / "stale")
    node = world.successor(node)
    assert node.epilog(stale).exit() == 0
    again = world.job(restart=2, start=START + 200)
    training(world, node, again)
    node = world.anew(node, copied)
    assert node.run(stale).phase is Phase.RUNNING
    attach = node.attach(again, restart=2)
    world.says(again, 0, "again")
    attach.until(lines=1)
    world.ends(again, 0)
    assert attach.exit() == 0


def test_a_run_that_the_journal_knows_as_released_is_not_adopted(world: World) -> None:
    node, job = world.node(), world.job()
    training(world, node, job)
    workload = world.kube.get("workload", NAMESPACE, job.workload)
    assert node.epilog(job).exit() == 0
    world.left_nothing()
    world.kube.put("workload", {**workload, "metadata": {**workload["metadata"], "uid": "again"}})
    answer = node.ask(verb="attach", job=job.id)
    assert answer["kind"] == "waiting"
    said = "slurm-demo-7-0 is no more: this node's journal says that its run was released [run-ending]; "
    assert answer["sentence"].startswith(said)


# -- what is said where there is no run


def test_another_users_lost_run_cannot_be_told_from_none(world: World) -> None:
    node, job = world.node(), world.job()
    training(world, node, job)
    node = world.anew(node)
    node.peer_uid = OTHER
    hidden, none = node.ask(verb="attach", job=7), node.ask(verb="attach", job=8)
    assert hidden == none | {"sentence": none["sentence"].replace("job 8", "job 7")}
    assert none["unknown"] is True


def test_a_marker_without_a_workload_is_said_as_it_is(world: World) -> None:
    node, job = world.node(), world.job()
    marked(node, job)
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
    training(world, node, job)
    node = world.anew(node)
    world.kube.edit("workload", NAMESPACE, job.workload, edit)
    assert "Kubernetes has no workload of it" in node.ask(verb="attach", job=job.id)["sentence"]
    assert job.key not in node.engine.runs


@pytest.mark.parametrize(("rule", "node"), [("{nodename}", "n1"), ("k8s-{nodename}.site", "k8s-n1.site")])
def test_slurms_name_of_a_node(rule: str, node: str) -> None:
    given: Config = HASTY.model_copy(update={"cluster": HASTY.cluster.model_copy(update={"node_name": rule})})
    assert given.cluster.slurm_node(node) == "n1"
