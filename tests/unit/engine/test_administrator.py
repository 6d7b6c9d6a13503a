"""What an administrator's token is used for: drains with our reason, lifted by the proof, and time given back."""

from pathlib import Path

import pytest

from bridge import clock
from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import drain, events
from bridge.engine.state import Answer, Effort, Phase
from bridge.errors import Unavailable

from .clients import Job
from .node import Node, eventually
from .story import CONFIG, Story, allocation, member, ready, record
from .world import World, config

REST = {"tier": "administrator", "service_user": "slurm", "service_token_file": "/nowhere/token"}
BROKEN = "Kubernetes has no Node compute1 for this machine"
ALIVE = (4711, "cgroup of the run's pod")


def administrator(given: Config = CONFIG, token: Path = Path("/nowhere/token")) -> Config:
    """A site that lets the bridge drain and resume."""
    assert given.slurmrest is not None
    rest = given.slurmrest.model_copy(update=REST | {"service_token_file": token})
    return given.model_copy(update={"slurmrest": rest})


def refuted(story: Story) -> Story:
    """The node is at fault, by its own evidence."""
    return story.began().tell(events.NodeRefuted(story.at, BROKEN))


@pytest.mark.parametrize("nodes", [("compute1",), ("compute2", "compute1")])
def test_a_node_at_fault_is_drained_with_our_reason_before_slurmds(nodes: tuple[str, ...]) -> None:
    story = refuted(Story(allocation(nodes), administrator()))
    assert story.wants(do.DrainNode) == [do.DrainNode(f"slurm-k8s-bridge slurm-demo-7-0: {BROKEN}", 0)]
    story.tell(events.Reported(story.at, story.run.sentence))
    assert story.answer() is None
    story.tell(events.Drained(story.at))
    assert story.answer() == Answer(1, BROKEN)
    assert not story.wants(do.DrainNode)


def test_slurmctld_that_does_not_answer_does_not_hold_the_failing_hook() -> None:
    story = refuted(Story(allocation(("compute2", "compute1")), administrator()))
    story.after(drain.PATIENCE)
    assert story.run.prolog_answer == Answer(1, BROKEN)
    for attempt in range(5):
        assert story.wants(do.DrainNode) == [do.DrainNode(story.run.drain_reason, attempt)]
        story.tell(events.Failed(story.at, "drain", "no answer from slurmrestd"))
    assert not story.wants(do.DrainNode)


def test_other_tiers_leave_the_drain_to_slurmd() -> None:
    story = refuted(member())
    assert not story.wants(do.DrainNode) and story.run.prolog_answer == Answer(1, BROKEN)


def test_a_reason_is_short_enough_for_sinfo() -> None:
    run = drain.with_reason(administrator(), member().began().run, "x" * 5000, until_released=False)
    assert len(run.drain_reason) == 400


def extended(waited: float, *, allowed: bool = True, limit: int | None = 60) -> Story:
    """A job of this time limit whose only pod became ready after so many seconds."""
    given = administrator()
    assert given.slurmrest is not None
    rest = given.slurmrest.model_copy(update={"extend_time_limit": allowed})
    story = Story(allocation(("compute1",)), given.model_copy(update={"slurmrest": rest})).began()
    story.tell(events.JobLearned(story.at, record(1, time_limit_minutes=limit)))
    story.tell(events.NodeProven(story.at, 2)).tell(events.WorkloadCreated(story.at, "job-uid"))
    return story.after(waited).sees(ready(0))


@pytest.mark.parametrize(("waited", "minutes"), [(29.0, None), (31.0, 61), (89.0, 61), (91.0, 62)])
def test_the_minutes_of_the_prolog_are_given_back(waited: float, minutes: int | None) -> None:
    story = extended(waited)
    assert story.answer() == Answer(0)
    assert story.wants(do.ExtendLimit) == ([] if minutes is None else [do.ExtendLimit(7, minutes, 0)])
    story.tell(events.Extended(story.at))
    assert not story.wants(do.ExtendLimit)


def test_they_are_given_back_only_where_the_site_says_so_and_there_is_a_limit() -> None:
    assert not extended(100.0, allowed=False).wants(do.ExtendLimit)
    assert not extended(100.0, limit=None).wants(do.ExtendLimit)


def test_a_limit_that_cannot_be_lengthened_is_given_up() -> None:
    story = extended(100.0)
    for _ in range(5):
        assert story.wants(do.ExtendLimit)
        story.tell(events.Failed(story.at, "extend", "no answer from slurmrestd"))
    assert not story.wants(do.ExtendLimit)


def unproven(node: Node, job: Job) -> None:
    """The epilog came to its deadline over a process that lives on."""
    assert node.prolog(job).exit() == 0
    epilog = node.epilog(job, [ALIVE])
    answer = epilog.answer()
    assert (answer["exit"], answer["linger"]) == (1, True)


@pytest.fixture
def node(world: World, tmp_path: Path) -> Node:
    """A node of such a site, whose epilogs are given up soon."""
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("SLURM_JWT=administrators")
    world.rest.administrators.add("slurm")
    return world.node(given=administrator(config(epilog_deadline=0.05), token))


@pytest.fixture
def hasty(world: World, node: Node) -> Node:
    """Another one, whose prologs are given up soon, too."""
    timing = node.config.timing.model_copy(update={"prolog_deadline": drain.PATIENCE + 1})
    return world.node("n2", given=node.config.model_copy(update={"timing": timing}))


def test_a_drain_for_want_of_proof_is_lifted_by_the_proof(world: World, node: Node) -> None:
    job = world.job()
    unproven(node, job)
    assert world.rest.nodes["n1"].startswith("slurm-k8s-bridge slurm-demo-7-0: ")
    lingering = node.epilog(job, lingers=True)
    assert lingering.exit() == 0 and lingering.answer()["released"] == [7]
    assert world.rest.nodes == {}
    assert node.run(job).resume is Effort.DONE


def test_a_proof_that_comes_while_the_node_is_being_drained_lifts_that_drain() -> None:
    story = Story(allocation(("compute1",)), administrator()).began().tell(events.EpilogBegan(100.0))
    story.after(story.config.timing.epilog_deadline)
    assert story.wants(do.DrainNode) and story.run.epilog_answer is None
    story.tell(events.Scanned(story.at, ()))
    assert story.wants(do.ResumeNode) and not story.wants(do.DrainNode)
    story.tell(events.Drained(story.at)).tell(events.Resumed(story.at))
    assert story.run.phase is Phase.RELEASED and story.run.resume is Effort.DONE


def test_what_is_proven_is_not_told_as_unproven_while_the_drain_is_being_lifted() -> None:
    story = Story(allocation(("compute1",)), administrator()).began().tell(events.EpilogBegan(100.0))
    story.after(story.config.timing.epilog_deadline).tell(events.Scanned(story.at, ()))
    story.tell(events.Drained(story.at)).after(drain.PATIENCE)
    assert story.wants(do.ResumeNode) and story.run.epilog_answer is None


def test_a_drain_that_somebody_else_set_is_never_lifted(world: World, node: Node) -> None:
    job = world.job()
    unproven(node, job)
    world.rest.nodes["n1"] = "bad DIMM, ticket 4711"
    assert node.epilog(job, lingers=True).exit() == 0
    assert world.rest.nodes == {"n1": "bad DIMM, ticket 4711"}


def test_a_node_that_cannot_be_resumed_is_proven_free_all_the_same(world: World, node: Node) -> None:
    job = world.job()
    unproven(node, job)
    world.rest.faults.fail("resume", *[Unavailable("no answer from slurmrestd")] * 5)
    assert node.epilog(job, lingers=True).exit() == 0
    assert node.run(job).phase is Phase.RELEASED and node.run(job).resume is Effort.GIVEN_UP
    assert list(world.rest.nodes) == ["n1"]


def test_a_node_at_fault_stays_drained_when_the_run_is_proven_gone(world: World, node: Node) -> None:
    job = world.job()
    held = world.kube.faults.hold("node")
    waiting = node.prolog(job)
    node.until(lambda run: run.record is not None, job)
    node.engine.happened(job.key, events.NodeRefuted(clock.now(), BROKEN))
    assert waiting.exit() == 1
    held.set()
    assert node.epilog(job).exit() == 0
    assert BROKEN in world.rest.nodes["n1"]


def found_over(world: World, node: Node) -> None:
    """A run's epilog was killed, a person gave the node back, and long after its daemon ends the run by itself."""
    job = world.job(node.name)
    assert node.prolog(job).exit() == 0
    node.engine.happened(job.key, events.EpilogBegan(clock.now(), awaited=False))
    node.until(lambda run: run.epilog_answer, job)


def test_an_idle_node_is_not_drained_for_a_proof_that_needs_a_hook(world: World, node: Node) -> None:
    found_over(world, node)
    following = node.prolog(world.job(id=8)).answer()
    assert (following["exit"], following["released"]) == (0, [7])
    assert "drain" not in world.rest.faults.calls


def test_a_prolog_that_finds_something_left_to_its_end_has_the_node_drained_with_our_reason(
    world: World, hasty: Node
) -> None:
    found_over(world, hasty)
    following = hasty.prolog(world.job("n2", id=8), [ALIVE])
    eventually(lambda: "n2" in world.rest.nodes)
    assert following.waits
    reason = world.rest.nodes["n2"]
    assert reason.startswith("slurm-k8s-bridge slurm-demo-7-0: ") and ALIVE[1] in reason
    assert following.exit() == 1


def test_what_goes_in_the_last_moment_lifts_that_drain(world: World, hasty: Node) -> None:
    found_over(world, hasty)
    alive = [ALIVE]
    following = hasty.prolog(world.job("n2", id=8), alive)
    eventually(lambda: "drain" in world.rest.faults.calls)
    alive.clear()
    assert following.exit() == 0
    assert world.rest.nodes == {}


def test_what_the_daemon_finds_out_by_itself_takes_nothing_from_a_hook_that_waits() -> None:
    story = Story(allocation(("compute1",)), administrator()).began().tell(events.EpilogBegan(100.0))
    story.tell(events.EpilogBegan(101.0, awaited=False)).after(story.config.timing.epilog_deadline)
    assert story.wants(do.DrainNode)


def test_a_lingering_hook_does_not_end_the_jobs_next_run(world: World, node: Node) -> None:
    job = world.job()
    unproven(node, job)
    assert node.epilog(job, lingers=True).exit() == 0
    again = world.job(restart=1)
    world.running(node, again)
    assert node.epilog(job, lingers=True).exit() == 0
    assert node.run(again).phase is Phase.RUNNING


def test_a_lingering_hook_lets_nobody_in(world: World, node: Node) -> None:
    """slurmd waits for it no more, so Slurm may give the GPUs to the next job: the door keeps it out."""
    job, other = world.job(), world.job(id=8)
    unproven(node, job)
    lingering = node.epilog(job, [ALIVE], lingers=True)
    assert lingering.asked_to_scan.wait(5)
    waiting = node.prolog(other)
    lingering.scanned.clear()
    lingering.asked_to_scan.clear()
    assert lingering.asked_to_scan.wait(5) and waiting.waits
    lingering.finds = []
    assert waiting.exit() == 0
