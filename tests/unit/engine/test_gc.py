"""`bridgectl gc` and the reconciler's thread, on a node with a real journal."""

import copy
from pathlib import Path

import pytest

from bridge.config.servers import Slurmrest
from bridge.errors import Unavailable
from bridge.kube.api import Object

from .clients import Job
from .node import Node, eventually
from .test_shown import fields_of
from .world import NAMESPACE, World, config

OWNER, ROOT = 2001, 0


def orphan(world: World, node: Node, job: Job) -> str:
    """A run ends, and somebody makes its workload again; its name."""
    world.running(node, job)
    workload = without_uid(world.kube.get("workload", NAMESPACE, job.workload))
    assert node.epilog(job).exit() == 0
    eventually(lambda: job.workload not in world.workloads())  # the garbage collector ends later than the epilog
    world.kube.put("workload", workload)
    return job.workload


def without_uid(workload: Object) -> Object:
    """The same object as somebody would create it."""
    made = copy.deepcopy(workload)
    for name in ("uid", "creationTimestamp", "resourceVersion"):
        made["metadata"].pop(name, None)
    return made


def looked(node: Node, times: int = 3) -> None:
    """The reconciler has looked so often from now on."""
    for _ in range(times):
        _looked_once(node)


def _looked_once(node: Node) -> None:
    before = node.reconciler.report
    eventually(lambda: node.reconciler.report is not before)


def test_gc_is_for_root(world: World) -> None:
    node = world.node()
    node.peer_uid = OWNER
    for dry_run in (True, False):
        answer = node.ask(verb="gc", dry_run=dry_run)
        assert (answer["kind"], answer["sentence"][-15:]) == ("error", "; run it as root"[-15:])
    assert world.calls("survey_workloads") == 0


def test_a_dry_run_shows_every_workload_and_deletes_none(world: World) -> None:
    node, live, strange = world.node(), world.job(id=8, gpus=0), world.job(id=9)
    node.peer_uid = ROOT
    over = orphan(world, node, world.job(gpus=0))
    world.running(node, live)
    unconfirmed = without_uid(world.kube.get("workload", NAMESPACE, live.workload))
    unconfirmed["metadata"]["name"] = strange.workload
    world.kube.put("workload", unconfirmed)
    for question in ({"verb": "gc", "dry_run": True}, {"verb": "gc"}):
        answer = node.ask(**question)
        assert answer["kind"] == "gc"
        assert [(row["workload"], row["state"]) for row in answer["workloads"]] == [
            (over, "orphan"),
            (live.workload, "live"),
            (strange.workload, "unconfirmed"),
        ]
        assert 290 < answer["workloads"][0]["deleted_in"] <= 300
        assert "kubectl -n slurm-jobs delete pytorchjob slurm-demo-9-0" in answer["workloads"][2]["cure"]
        assert (answer["deleted"], answer["faults"], answer["strays"]) == ([], [], [])
        fields = {*answer, *(f"workloads.*.{name}" for name in answer["workloads"][0])}
        assert sorted(fields) == sorted(fields_of("bridgectl gc"))
    assert world.calls("delete_workload") == 1, "by the epilog"


def test_gc_deletes_what_is_proven_over_without_its_grace(world: World) -> None:
    node, live = world.node(), world.job(id=8, gpus=0)
    node.peer_uid = ROOT
    over = orphan(world, node, world.job(gpus=0))
    world.running(node, live)
    answer = node.ask(verb="gc", dry_run=False)
    assert [row["workload"] for row in answer["deleted"]] == [over]
    assert [(row["workload"], row["state"]) for row in answer["workloads"]] == [(live.workload, "live")]
    assert world.workloads() == [live.workload]
    assert node.ask(verb="gc", dry_run=False)["deleted"] == [], "what was deleted earlier is not told again"


def test_an_api_server_that_does_not_answer_is_told(world: World) -> None:
    node = world.node()
    node.peer_uid = ROOT
    world.kube.break_down(Unavailable("No answer from the API server"))
    answer = node.ask(verb="gc", dry_run=False)
    assert answer["sentence"].partition(" [")[0].endswith("so nothing was deleted: No answer from the API server")
    world.kube.recover()


def test_status_tells_counts_to_everybody_and_names_to_root(world: World) -> None:
    node = world.node()
    assert node.ask(verb="status")["reconciler"]["seconds_ago"] is None, "it has not looked yet"
    over = orphan(world, node, world.job())
    node.reconciler.look()
    told = node.ask(verb="status")["reconciler"]
    assert told.pop("seconds_ago") < 5
    assert told == {"workloads": 1, "orphans": 1, "unconfirmed": 0, "strays": 0}
    node.peer_uid = ROOT
    assert node.ask(verb="status")["reconciler"]["details"]["orphans"] == [over]
    node.reconciler.collect()
    (deleted,) = node.ask(verb="status")["reconciler"]["details"]["deleted"]
    assert deleted["workload"] == over


def test_by_itself_it_deletes_an_orphan_and_leaves_what_lives(world: World) -> None:
    node = world.reconciling_node(config(reconcile_period=0.03, orphan_grace=0.1))
    live = world.job(id=8, gpus=0)
    world.running(node, live)
    over = orphan(world, node, world.job(gpus=0))
    eventually(lambda: over not in world.workloads())
    looked(node)
    assert world.workloads() == [live.workload]
    world.ends(live, 0)
    assert node.epilog(live).exit() == 0
    world.left_nothing()


@pytest.mark.parametrize("service", [False, True])
def test_a_wiped_state_directory_deletes_nothing_live(world: World, tmp_path: Path, service: bool) -> None:
    given, job = config(reconcile_period=0.03, orphan_grace=0.05), world.job()
    if service:
        given = given.model_copy(update={"slurmrest": with_service(tmp_path)})
    node = world.reconciling_node(given)
    world.running(node, job)
    node = world.wiped(node)
    looked(node)
    node.peer_uid = ROOT
    (row,) = node.ask(verb="gc", dry_run=False)["workloads"]
    assert row["state"] == ("live" if service else "unconfirmed")
    assert world.workloads() == [job.workload]
    assert world.calls("delete_workload") == 0
    assert node.epilog(job).exit() == 0
    world.left_nothing()


def test_a_wiped_state_directory_and_slurmctlds_word_delete_what_is_over(world: World, tmp_path: Path) -> None:
    rest = with_service(tmp_path)
    given = config(reconcile_period=0.03, orphan_grace=0.05).model_copy(update={"slurmrest": rest})
    node, job = world.reconciling_node(given), world.job()
    world.running(node, job)
    node = world.wiped(node)
    looked(node)
    assert world.workloads() == [job.workload]
    del world.rest.jobs[job.id]
    eventually(lambda: world.is_empty)
    node.peer_uid = ROOT
    eventually(lambda: node.reconciler.report.deleted)
    (deleted,) = node.ask(verb="status")["reconciler"]["details"]["deleted"]
    assert deleted["why"] == "slurmctld does not know its job any more"


def test_a_restored_state_directory_deletes_nothing_live(world: World, tmp_path: Path) -> None:
    """The copy knows earlier runs of the job, released; the run that lives began after it was made."""
    node = world.reconciling_node(config(reconcile_period=0.03, orphan_grace=0.05))
    old = world.job(start=1_700_000_000)
    world.running(node, old)
    assert node.epilog(old).exit() == 0
    copied = world.saved(node, tmp_path / "copy")
    node = world.successor(node)
    for again in (world.job(start=1_700_000_500, restart=1), world.job(start=1_700_009_000)):
        world.running(node, again)
        node = world.wiped(node, copied)
        looked(node)
        node.peer_uid = ROOT
        (row,) = node.ask(verb="gc", dry_run=False)["workloads"]
        assert (row["workload"], row["state"]) == (again.workload, "unconfirmed")
        assert node.epilog(again).exit() == 0
        world.left_nothing()


def with_service(directory: Path) -> Slurmrest:
    """The site has given the bridge an operator's token."""
    file = directory / "token"
    file.write_text("service's")
    file.chmod(0o600)
    return Slurmrest(url="https://slurmrestd:6820", tier="service", service_user="op", service_token_file=file)
