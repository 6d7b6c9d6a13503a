"""A node that is at fault drains itself alone: looked at while a prolog waits, believed if it lasts, counted first."""

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.release import epilog_answer
from bridge.engine.state import Phase
from bridge.job.faults import Verdict

from .story import CONFIG, Story, allocation, batch, member, pod, ready, record

PATIENCE = CONFIG.timing.node_patience
DEAD = ("kubelet-dead", "the kubelet of compute2 is dead")
DOWN = ("runtime-down", "the container runtime of compute2 does not work")


def waiting() -> Story:
    """A member whose pod does not start."""
    story = member().began().tell(events.NodeProven(100.0, 2)).workload()
    return story.sees(pod(1, gate=None, node="compute2"))


def faulty(fault: tuple[str, str] = DEAD) -> Story:
    """A member whose node's fault has lasted."""
    story = waiting().after(PATIENCE).looked(*fault)
    return story.after(PATIENCE).looked(*fault)


def looks_within(story: Story, seconds: float) -> list[float]:
    """When it looks at a node that is well, in seconds since the beginning."""
    moments, began = [], story.at
    while story.wake is not None and story.at - began + story.wake <= seconds:
        story.after(story.wake)
        if story.wants(do.LookAtNode):
            moments.append(round(story.at - began, 1))
            story.looked()
    return moments


# -- when it looks


def test_a_quick_start_costs_no_look() -> None:
    story = waiting().after(PATIENCE - 0.1)
    assert not story.wants(do.LookAtNode)
    story.sees(ready(1))
    assert story.answer() is not None and not story.after(PATIENCE).wants(do.LookAtNode)


def test_a_node_that_is_well_is_looked_at_ever_more_seldom() -> None:
    assert looks_within(waiting(), 290) == [PATIENCE * times for times in (1, 2, 4, 8)]


def test_a_thousand_nodes_look_one_after_the_other() -> None:
    """All pods of a large run need longer than the patience, and all nodes wait for them."""
    nodes = tuple(f"compute{number}" for number in range(1, 1025))
    for rank, first in ((1, PATIENCE), (1023, PATIENCE + 9.6)):
        story = Story(allocation(nodes, nodes[rank])).began().tell(events.NodeProven(100.0, 2)).workload()
        story.sees(pod(rank, gate=None, node=nodes[rank]))
        assert looks_within(story, 100) == pytest.approx([first, first + PATIENCE], abs=0.11)


def test_the_batch_node_looks_too_until_its_own_pod_has_started() -> None:
    story = batch().created().sees(pod(0), pod(1)).after(PATIENCE)
    (look,) = story.wants(do.LookAtNode)
    assert isinstance(look, do.LookAtNode) and (look.node, look.batch_node) == ("compute1", "")
    assert not story.sees(ready(0)).wants(do.LookAtNode)


def test_nobody_looks_for_a_prolog_that_has_its_answer() -> None:
    story = member().began().tell(events.NodeProven(100.0, 2)).after(PATIENCE)
    assert story.answer() is not None and not story.run.pods
    assert not story.wants(do.LookAtNode)


def test_nobody_looks_behind_a_verdict() -> None:
    story = batch().began().learned().after(PATIENCE)
    assert story.wants(do.LookAtNode)
    story.tell(events.Refused(story.at, "exceeded quota", "quota", Verdict.JOB))
    assert story.judgement() is not None and story.answer() is None
    assert not story.wants(do.LookAtNode)


def test_a_look_that_failed_is_tried_again() -> None:
    story = waiting().after(PATIENCE)
    story.tell(events.Failed(story.at, "look", "the API server does not answer"))
    (look,) = story.wants(do.LookAtNode)
    assert isinstance(look, do.LookAtNode) and look.attempt == 1
    assert story.answer() is None


# -- what it believes


def test_a_fault_that_lasts_is_counted_and_drains_this_node() -> None:
    story = faulty()
    assert story.answer() is None and len(story.wants(do.CountNodeFaults)) == 1
    assert not story.wants(do.LookAtNode)
    story.counted()
    answer = story.answer()
    assert answer is not None and (answer.exit, answer.message) == (1, DEAD[1])
    assert not story.run.consent


def test_a_restart_of_the_kubelet_is_no_fault() -> None:
    story = waiting().after(PATIENCE).looked(*DEAD).after(PATIENCE / 3)
    assert len(story.wants(do.LookAtNode)) == 1, "a fault is looked at again soon"
    story.looked().after(PATIENCE).looked(*DEAD)
    assert not story.run.accusation


def test_another_fault_has_to_last_anew() -> None:
    story = waiting().after(PATIENCE).looked(*DEAD).after(PATIENCE).looked(*DOWN)
    assert not story.run.accusation
    accusation = story.after(PATIENCE).looked(*DOWN).run.accusation
    assert accusation is not None and (accusation.fault, accusation.sentence) == DOWN


def test_the_batch_node_with_a_fault_of_its_own_cancels_nothing_and_deletes_the_workload() -> None:
    story = batch().created().sees(pod(0), pod(1)).after(PATIENCE).looked(*DEAD).after(PATIENCE).looked(*DEAD)
    story.counted()
    assert story.run.judgement is not None and story.run.judgement.verdict is Verdict.NODE
    assert story.wants(do.DeleteWorkload) and not story.wants(do.CancelJob)
    story.tell(events.Reported(story.at, story.run.sentence))
    answer = story.answer()
    assert answer is not None and answer.exit == 1 and answer.requeue is None


def test_the_batch_node_does_not_end_the_job_for_another_nodes_fault() -> None:
    """Slurm requeues it for the prolog that failed, and the poll sees that."""
    refused = pod(1, gate=None, node="compute2", phase="Failed", failure="UnexpectedAdmissionError")
    story = batch().created().sees(pod(0), refused)
    requeued = record(states=frozenset({"PENDING", "REQUEUED", "COMPLETING"}))
    story.tell(events.JobLearned(story.at, requeued))
    answer = story.answer()
    assert answer is not None and answer.exit == 0
    assert story.wants(do.DeleteWorkload) and not story.wants(do.CancelJob)


# -- what others say


def test_a_fault_that_many_nodes_meet_drains_none() -> None:
    story = faulty().counted(CONFIG.node_fault_limit)
    assert story.answer() is None
    story.after(300)
    answer = story.answer()
    assert answer is not None and answer.exit == 0


def unproven(fault: str, others: int) -> Story:
    """A batch node that Kubernetes does not show as Slurm does, and others neither."""
    story = batch().began().tell(events.JobLearned(100.0, record(2)))
    return story.tell(events.NodeAccused(story.at, "not as Slurm has it", fault)).counted(others)


@pytest.mark.parametrize("fault", ["gpus-gone", "node-unknown", "node-foreign"])
def test_what_others_share_and_is_mended_ends_the_wait(fault: str) -> None:
    """As where device plugins are replaced on all nodes."""
    story = unproven(fault, CONFIG.node_fault_limit)
    assert len(story.wants(do.ProveNode)) == 1 and not story.wants(do.CreateWorkload)
    story.tell(events.NodeProven(story.at + 20, 2))
    assert not story.wants(do.ProveNode) and len(story.wants(do.CreateWorkload)) == 1
    assert not story.run.accusation and not story.wants(do.CountNodeFaults)
    story.after(300)
    judgement = story.judgement()
    assert judgement is not None and "as Slurm has it" not in judgement.sentence


def test_what_a_proof_says_nothing_of_is_not_over_by_it() -> None:
    story = unproven(DEAD[0], CONFIG.node_fault_limit)
    assert story.tell(events.NodeProven(story.at, 2)).run.accusation


def test_who_is_accused_alone_is_not_asked_again() -> None:
    story = batch().began().tell(events.NodeAccused(100.0, "not as Slurm has it", "gpus-gone"))
    assert not story.wants(do.ProveNode)
    assert not story.counted().wants(do.ProveNode)


def test_a_proof_that_comes_while_others_are_counted_acquits_nobody() -> None:
    """It has lasted long enough; and whether it is this node's own nobody knows yet."""
    story = batch().began().tell(events.NodeAccused(100.0, "not as Slurm has it", "gpus-gone"))
    story.tell(events.NodeProven(story.at, 2))
    assert story.run.accusation and story.wants(do.CountNodeFaults)


def test_one_below_the_limit_is_still_this_nodes_own() -> None:
    answer = faulty().counted(CONFIG.node_fault_limit - 1).answer()
    assert answer is not None and answer.exit == 1


def test_the_batch_node_says_why_it_stays_in_service() -> None:
    story = batch().created().sees(pod(0), pod(1)).after(PATIENCE).looked(*DEAD).after(PATIENCE).looked(*DEAD)
    story.counted(3).after(300)
    assert story.run.judgement is not None and story.run.judgement.verdict is Verdict.SHARED
    assert f"{DEAD[1]} (3 other nodes met such a fault" in story.run.judgement.sentence


def test_a_fault_that_nobody_can_count_drains_nobody() -> None:
    story = faulty()
    story.tell(events.Failed(story.at, "count", "the API server does not answer")).after(300)
    answer = story.answer()
    assert answer is not None and answer.exit == 0


def test_what_the_fault_led_to_elsewhere_does_not_come_before_the_verdict() -> None:
    story = faulty().workload(deleting=True)
    assert story.answer() is None
    answer = story.counted().answer()
    assert answer is not None and answer.exit == 1


@pytest.mark.parametrize("others", [0, CONFIG.node_fault_limit])
def test_a_workload_that_does_not_come_does_not_come_before_the_verdict_either(others: int) -> None:
    """Let through it would be asked no more whether it has its GPUs again, and its gate stay closed."""
    story = member().began().tell(events.NodeAccused(100.0, "not as Slurm has it", "gpus-gone"))
    story.after(CONFIG.timing.member_patience)
    assert story.answer() is None and story.wants(do.CountNodeFaults)
    answer = story.counted(others).answer()
    assert answer is not None and answer.exit == (0 if others else 1)
    story.tell(events.NodeProven(story.at + 20, 2)).workload().sees(pod(1))
    assert len(story.wants(do.OpenGate)) == (1 if others else 0)


def test_a_member_without_its_batch_node_lets_go() -> None:
    story = waiting().after(PATIENCE)
    (look,) = story.wants(do.LookAtNode)
    assert isinstance(look, do.LookAtNode) and look.batch_node == "compute1"
    answer = story.looked(batch_lost=True).answer()
    assert answer is not None and answer.exit == 0


# -- its epilog


def test_the_epilog_of_a_node_that_was_at_fault_does_not_keep_the_job_from_the_next_one() -> None:
    story = faulty().counted()
    story.tell(events.EpilogBegan(story.at)).after(PATIENCE - 1)
    assert epilog_answer(story.run) is None
    story.after(1)
    answer = epilog_answer(story.run)
    assert answer is not None and answer.exit == 1
    assert f"after {PATIENCE:.0f} s" in (answer.message or "")
    assert story.run.phase is Phase.RELEASE, "and nobody comes in before it is proven gone"


def test_any_other_epilog_waits_on() -> None:
    story = waiting().workload(deleting=True)
    story.tell(events.EpilogBegan(story.at)).after(CONFIG.timing.epilog_deadline - 1)
    assert epilog_answer(story.run) is None


def test_the_epilog_of_a_job_that_was_refused_waits_on() -> None:
    """Else its node would be drained for what its owner has to mend."""
    story = batch().created().tell(events.Refused(100.0, "exceeded quota", "quota", Verdict.JOB))
    assert (judgement := story.judgement()) is not None and judgement.verdict is Verdict.JOB
    story.tell(events.EpilogBegan(story.at)).after(CONFIG.timing.epilog_deadline - 1)
    assert epilog_answer(story.run) is None


def test_replay_equals_memory() -> None:
    story = faulty().counted()
    assert story.replayed() == story.run
