"""A run that a journal shows in its prolog when the daemon begins: mostly its hook comes back, but the journal may be
an old copy, and the training at work."""

from pathlib import Path

import pytest

from bridge.engine import activities as do
from bridge.engine import events, loop
from bridge.engine.state import Answer, Phase, Workload
from bridge.job.faults import Verdict
from bridge.job.faults.runs import DEADLINE, HOOK_LEFT

from .story import Story, batch, ended, member, pod, pulling, ready, record
from .world import World

LATER = 10_000.0  # seconds, long after every deadline of a prolog


def taken_up(story: Story, later: float = LATER) -> Story:
    """A daemon begins with this journal, long after."""
    return story.tell(events.TakenUp(story.at + later)).after(0.1)


def listed(story: Story) -> Story:
    """Kubernetes has told of everything."""
    return story.tell(events.Listed(story.at, "workload")).tell(events.Listed(story.at, "pods"))


def hook_left(story: Story) -> Story:
    """No hook has come back."""
    return story.tell(events.HookLeft(story.at + 10))


def meddles(story: Story) -> list[do.Activity]:
    """What the run wants that would change something in Kubernetes."""
    kinds = (do.CreateWorkload, do.OpenGate, do.DeleteWorkload, do.DeletePod)
    return [activity for kind in kinds for activity in story.wants(kind)]


def creating() -> Story:
    """A batch node that has asked for its workload, and has no answer yet."""
    story = batch().began()
    story.tell(events.JobLearned(story.at, record(2))).tell(events.NodeProven(story.at, 2))
    assert story.wants(do.CreateWorkload)
    return story


def gated() -> Story:
    """A batch node whose prolog waits for both pods."""
    return batch().created().sees(pod(0), pod(1))


def test_a_training_at_work_goes_on_whatever_the_old_journal_says() -> None:
    story = taken_up(gated())
    assert story.judgement() is None and not meddles(story)
    assert story.wants(do.WatchWorkload) and story.wants(do.WatchPods)
    hook_left(listed(story.workload().sees(ready(0), ready(1))))
    assert story.run.phase is Phase.RUNNING and story.answer() == Answer(0)
    assert story.run.opened == "pod-0"
    story.sees(ended(0, 0), ended(1, 0))
    outcome = story.outcome()
    assert outcome is not None and outcome.exit_code == 0
    assert not meddles(story)
    assert story.replayed() == story.run


def test_its_node_is_not_judged() -> None:
    """By a journal that may be old the training is at work, and its kubelet busy."""
    story = taken_up(member().began().workload().sees(pod(1)))
    assert not story.wants(do.LookAtNode)


def test_what_its_pods_once_waited_for_judges_nothing() -> None:
    story = batch().created().sees(pulling(0, "not found"), pod(1))
    assert story.run.suspicions
    taken_up(story).tell(events.ServerDown(story.at, "away", "api-outage"))
    assert story.judgement() is None and not meddles(story)


def test_the_hook_that_comes_back_is_judged_as_ever() -> None:
    story = taken_up(gated())
    story.began()
    judged = story.judgement()
    assert judged is not None and judged.verdict is Verdict.SHARED
    assert DEADLINE.name != judged.fault  # its pods say more


def test_nothing_is_made_before_the_hook_is_back() -> None:
    story = taken_up(batch().began())
    story.tell(events.NodeProven(story.at, 2))
    assert not meddles(story)
    assert story.run.manifest == ""


def test_a_workload_without_the_gate_is_not_taken_for_ours_because_it_was_seen() -> None:
    """The daemon was killed before the answer to its creation told that the cluster drops the gate."""
    story = taken_up(creating(), later=1).workload(gated=False).sees(ready(0), ready(1))
    assert story.run.workload is Workload.UNKNOWN and not story.run.workload_uid
    story.began()
    assert story.answer() is None and story.judgement() is None
    assert story.wants(do.CreateWorkload)  # which finds out what there is, and deletes it
    story.tell(events.WorkloadGone(story.at))
    assert story.judgement() is None and story.wants(do.CreateWorkload)
    assert story.replayed() == story.run


def test_pods_prove_nothing_before_their_workload_does() -> None:
    """The same, and the watch of the pods is the first to tell."""
    story = creating().sees(ready(0), ready(1))
    assert story.answer() is None and story.wants(do.CreateWorkload)
    story.tell(events.WorkloadCreated(story.at, "job-uid"))
    assert story.answer() == Answer(0)


def test_a_training_without_the_gate_is_not_gone_on_with() -> None:
    story = hook_left(listed(taken_up(creating()).workload(gated=False).sees(ready(0), ready(1))))
    judged = story.judgement()
    assert judged is not None and judged.fault == HOOK_LEFT.name
    (deletion,) = story.wants(do.DeleteWorkload)
    assert isinstance(deletion, do.DeleteWorkload) and deletion.uid == ""


def test_without_a_word_of_kubernetes_it_stays_open() -> None:
    story = hook_left(taken_up(gated()).sees(ready(0), ready(1)))
    story.tell(events.Listed(story.at, "pods"))
    assert story.answer() is None and story.judgement() is None
    story.tell(events.Listed(story.at, "workload"))
    assert story.answer() == Answer(0)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_run_that_never_started_was_left_by_its_hook(rank: int) -> None:
    story = hook_left(listed(taken_up(gated()).sees(ready(rank))))
    judged = story.judgement()
    assert judged is not None and judged.fault == HOOK_LEFT.name
    assert story.wants(do.DeleteWorkload)


def test_a_run_that_failed_since_keeps_its_exit_code() -> None:
    """Its other pods have been taken away by the operator."""
    story = taken_up(gated()).workload(failed=True).sees(ended(1, 3))
    story.tell(events.PodGone(story.at, 0, "pod-0"))
    hook_left(listed(story)).after(5)
    outcome = story.outcome()
    assert outcome is not None and (outcome.exit_code, outcome.rank) == (3, 1)


@pytest.mark.parametrize("seen", [pod(1), None])
def test_a_member_whose_pod_was_not_let_through_was_left(seen: object) -> None:
    story = member().began()
    if seen is not None:
        story.sees(pod(1))
    hook_left(listed(taken_up(story)))
    judged = story.judgement()
    assert judged is not None and judged.fault == HOOK_LEFT.name


def test_a_member_whose_pod_was_let_through_goes_on() -> None:
    story = hook_left(listed(taken_up(member().began()).sees(ready(1))))
    assert story.run.phase is Phase.RUNNING and story.judgement() is None
    assert story.run.opened == "pod-1"


def test_its_epilog_ends_it_like_any_other() -> None:
    story = taken_up(gated())
    story.tell(events.EpilogBegan(story.at))
    assert story.run.phase is Phase.RELEASE and story.run.unattended is None
    assert story.wants(do.DeleteWorkload)


def test_at_its_epilog_an_old_journal_does_not_prove_that_nothing_was_made() -> None:
    story = taken_up(batch().began())
    assert story.run.created_nothing
    story.tell(events.EpilogBegan(story.at))
    assert not story.run.pods_clear and not story.wants(do.ScanNode)
    assert story.wants(do.DeleteWorkload) == [do.DeleteWorkload(story.run.name, "", 0)]


# -- the whole daemon


@pytest.mark.parametrize("code", [0, 3])
def test_a_journal_of_before_the_pods_were_ready_is_put_back(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    first, second, job = world.node("n1"), world.node("n2"), world.job("n1", "n2")
    hook = first.prolog(job)
    first.until(lambda run: run.own_pod is not None and run.own_pod.ready, job)
    saved = world.saved(first, tmp_path / "saved")
    first = world.successor(first)
    assert second.prolog(job).exit() == hook.exit() == 0
    monkeypatch.setattr(loop, "_HOOK_PATIENCE", 0.2)
    first = world.anew(first, saved)
    attach = first.attach(job)
    first.until(lambda run: run.phase is Phase.RUNNING, job)
    world.ends(job, 0, code)
    assert attach.exit() == code
    assert world.calls("delete_workload") == 0
    assert [node.epilog(job).exit() for node in (first, second)] == [0, 0]
    world.left_nothing()
