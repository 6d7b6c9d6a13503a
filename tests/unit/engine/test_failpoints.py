"""Whatever goes wrong once where the daemon reaches out, and wherever it is killed there: the run goes on and ends as
if nothing had happened."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.engine import crowd, prolog, wanted
from bridge.slurm.states import is_over
from tests.failpoints.failpoint import PLACES, Failpoint, Harm, possible

from .clients import Job
from .node import Node, eventually
from .strikes import each_time
from .test_administrator import ALIVE, administrator
from .test_gc import orphan
from .test_node_at_fault import dead, quick, told
from .world import World, config


class Stage:
    """What a lifecycle may use. ``arm`` makes a node the one that is harmed from then on."""

    def __init__(self, world: World, root: Path, patch: pytest.MonkeyPatch, failpoint: Failpoint) -> None:
        self.world, self.patch = world, patch
        self.token = root / "token"
        self.runs = 1  # of each no more than one workload ever
        self.failpoint = failpoint

    def arm(self, node: Node) -> Node:
        self.harmed = node
        node.failpoints.arm(self.failpoint)
        return node

    def administrator(self, **timing: float) -> Node:
        """A node of a site that lets the bridge drain nodes and lengthen jobs."""
        self.token.touch(0o600)
        self.token.write_text("SLURM_JWT=administrators")
        self.world.rest.administrators.add("slurm")
        given = administrator(config(**timing), self.token)
        assert given.slurmrest is not None
        rest = given.slurmrest.model_copy(update={"extend_time_limit": True})
        return self.world.node(given=given.model_copy(update={"slurmrest": rest}))


def a_training_that_fails(stage: Stage) -> None:
    world = stage.world
    node, job = stage.arm(world.node()), world.job()
    assert node.prolog(job).exit() == 0
    attach = node.attach(job, token="owner's")
    world.says(job, 0, *"abc")
    attach.until(lines=3)
    world.ends(job, 3)
    assert attach.exit() == 3
    assert attach.end is not None and "rank 0" in attach.end["reason"]
    assert attach.lines == [(0, "a"), (0, "b"), (0, "c")]
    if stage.failpoint.harm is not Harm.KILL:  # which takes the owner's token with it, perhaps at the last word
        eventually(lambda: "rank 0" in world.comment(job))
    assert node.epilog(job).answer()["released"] == [7]


def a_quota_of_a_single_workload(stage: Stage) -> None:
    """What a try has made fills it for the next one."""
    world = stage.world
    world.kube.quota = 1
    node, job = stage.arm(world.node()), world.job()
    assert node.prolog(job).exit() == 0
    assert node.run(job).judgement is None
    assert node.epilog(job).exit() == 0


def a_second_node(stage: Stage) -> None:
    world = stage.world
    first, second, job = world.node("n1"), stage.arm(world.node("n2")), world.job("n1", "n2")
    batch, member = first.prolog(job), second.prolog(job)
    assert batch.exit() == member.exit() == 0
    world.ends(job, 0, 0)
    assert first.attach(job).exit() == 0
    # Its epilog alone, and it does not wait for the garbage collector.
    stage.patch.setattr(crowd, "_CASCADE_PATIENCE", 0.0)
    stage.patch.setattr(crowd, "_EACH_POD", 0.0)
    assert second.epilog(job).exit() == 0
    assert first.epilog(job).exit() == 0


def a_spec_that_cannot_be_read(stage: Stage) -> None:
    world = stage.world
    node, job = stage.arm(world.node()), world.job()
    answer = node.prolog(job, spec={"path": "/home/ml/job.yaml", "error": "no such file"}).answer()
    assert answer["exit"] == 0 and "no such file" in answer["message"]
    assert "no such file" in world.comment(job)
    assert is_over(world.rest.jobs[job.id].states)
    assert node.epilog(job).exit() == 0


def a_pod_that_does_not_start(stage: Stage) -> None:
    world = stage.world
    stage.patch.setattr(wanted, "_EVENTS_AFTER", 0.02)
    stage.patch.setattr(wanted, "_POD_EVENTS_AFTER", 0.02)
    world.cluster.rest()  # no operator
    node, job = stage.arm(world.node(prolog_deadline=4.0)), world.job()
    hook = node.prolog(job)
    eventually(lambda: world.calls("events_of"))
    world.cluster.play()
    assert hook.exit() == 0
    assert node.epilog(job).exit() == 0


def a_process_that_outlives_its_run(stage: Stage) -> None:
    """The node is drained, and comes back with the proof."""
    world = stage.world
    node, job = stage.arm(stage.administrator(epilog_deadline=1.0)), world.job()
    assert node.prolog(job).exit() == 0
    answer = node.epilog(job, [ALIVE]).answer()
    assert (answer["exit"], answer["linger"]) == (1, True)
    assert node.epilog(job, lingers=True).exit() == 0
    assert world.rest.nodes == {}


def a_prolog_that_took_its_time(stage: Stage) -> None:
    world = stage.world
    for module in (prolog, wanted):
        stage.patch.setattr(module, "minutes_waited", lambda _run: 2)
    node, job = stage.arm(stage.administrator()), world.job()
    limit = world.rest.jobs[job.id].time_limit_minutes
    assert limit is not None
    assert node.prolog(job).exit() == 0
    eventually(lambda: world.rest.jobs[job.id].time_limit_minutes == limit + 2)
    assert node.epilog(job).exit() == 0


def a_node_at_fault(stage: Stage) -> None:
    world = stage.world
    # Its epilog has no more time than the patience, and shares the processor with the tests beside it.
    node, job = stage.arm(quick(world, patience=1.0)), world.job()
    dead(world, node)
    assert node.prolog(job).exit() == 1
    assert len(told(world)) == 1
    world.cluster.revive("n1")
    node.kubelet.fault = ""
    assert node.epilog(job).exit() == 0


def a_journal_that_is_lost(stage: Stage) -> None:
    """While the run is at work; its epilog has nothing but the job's number."""
    world = stage.world
    node, job = world.node(), world.job()
    world.running(node, job)
    assert stage.arm(world.anew(node)).bare_epilog(job).exit() == 0


def a_daemon_that_is_killed(stage: Stage) -> None:
    """And harmed once more while it begins anew."""
    world = stage.world
    node, job = world.node(), world.job()
    world.running(node, job)
    stage.arm(node).crash()
    world.ends(job, 0)
    assert node.attach(job).exit() == 0
    assert node.epilog(job).exit() == 0


def a_workload_of_nobody(stage: Stage) -> None:
    world = stage.world
    node = stage.arm(world.reconciling_node(config(reconcile_period=0.03, orphan_grace=0.1)))
    orphan(world, node, world.job(gpus=0))
    stage.runs = 2  # somebody made its workload again
    eventually(lambda: world.is_empty)


def a_job_number_that_comes_again(stage: Stage) -> None:
    world = stage.world
    node, stage.runs = stage.arm(world.node()), 2
    for start in (1_700_000_000, 1_700_009_000):
        job = world.job(start=start)
        world.running(node, job)
        assert node.epilog(job).exit() == 0


def a_rank_that_somebody_looks_into(stage: Stage) -> None:
    world = stage.world
    node, job = stage.arm(world.node()), world.job()
    world.running(node, job)
    world.says(job, 0, "abc")
    _asks_until_answered(node, job)
    assert node.epilog(job).exit() == 0


def _asks_until_answered(node: Node, job: Job) -> None:
    """As a person does."""

    def is_told() -> bool:
        try:
            return node.ask(verb="logs", job=job.id, lines=2).get("data") == "abc\n"
        except (OSError, AssertionError):
            return False

    eventually(is_told)


Lifecycle = Callable[[Stage], None]

# Each place once, in a lifecycle that comes to it.
LIFECYCLES: dict[Lifecycle, tuple[str, ...]] = {
    a_training_that_fails: (
        "journal.append",
        "kubernetes.create_event",
        "kubernetes.delete_workload",
        "kubernetes.follow_log",
        "kubernetes.list_pods",
        "kubernetes.node",
        "kubernetes.patch_pod",
        "kubernetes.watch_pods",
        "kubernetes.watch_workload",
        "reply.answer",
        "reply.attached",
        "reply.end",
        "reply.hello",
        "reply.line",
        "reply.scan",
        "slurmrest.job",
        "slurmrest.set_comment",
    ),
    a_quota_of_a_single_workload: ("kubernetes.create_workload",),
    a_second_node: ("kubernetes.delete_pod",),
    a_spec_that_cannot_be_read: ("slurmrest.cancel",),
    a_pod_that_does_not_start: ("kubernetes.events_of",),
    a_process_that_outlives_its_run: ("slurmrest.drain", "slurmrest.node", "slurmrest.resume"),
    a_prolog_that_took_its_time: ("slurmrest.set_time_limit",),
    a_node_at_fault: ("kubelet.complaint", "kubernetes.events_because", "kubernetes.pod"),
    a_journal_that_is_lost: ("kubernetes.list_workloads",),
    a_daemon_that_is_killed: ("journal.set_note",),
    a_workload_of_nobody: ("kubernetes.survey_workloads", "kubernetes.workload"),
    a_job_number_that_comes_again: ("journal.forget",),
    a_rank_that_somebody_looks_into: ("kubernetes.last_log",),
}


def test_each_place_has_a_lifecycle_that_comes_to_it() -> None:
    places = [place for harmed in LIFECYCLES.values() for place in harmed]
    assert sorted(places) == sorted(PLACES)


@pytest.mark.parametrize(
    ("lifecycle", "failpoint"),
    [
        pytest.param(lifecycle, failpoint, id=name)
        for lifecycle, places in LIFECYCLES.items()
        for place in places
        for failpoint in possible(place)
        for name in each_time(failpoint)
    ],
)
def test_it_goes_on_as_if_nothing_had_happened(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lifecycle: Lifecycle, failpoint: Failpoint
) -> None:
    stage = Stage(world, tmp_path, monkeypatch, failpoint)
    lifecycle(stage)
    eventually(stage.harmed.failpoints.struck.is_set)
    eventually(lambda: world.is_empty)
    assert world.workloads_ever() <= stage.runs
    assert all(record.comment.startswith("my words, k8s=job.yaml") for record in world.rest.jobs.values())
