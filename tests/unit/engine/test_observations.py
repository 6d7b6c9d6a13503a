"""What stands in a pod's events alone, causes that a kubelet tells only now and then, and what has no row."""

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.executor import Task
from bridge.engine.logs import LogHub
from bridge.job.faults import Verdict
from tests.fakes.kubernetes import FakeKubernetes

from .node import eventually
from .story import CONFIG, Story, batch, ended, member, pod, pulling, ready
from .world import NAMESPACE, World

MISSING = 'MountVolume.SetUp failed for volume "v" : secret "nothing" not found'
NOT_FOUND = "failed to resolve reference: registry:5000/skb/nothing:1: not found"
BACKOFF = 'Back-off pulling image "registry:5000/skb/small:1"'


def bound(rank: int = 0) -> Story:
    """A run whose one pod is bound and shows ContainerCreating."""
    return batch(1).created().sees(pod(rank, gate=None, node="compute1"))


def told(story: Story, reason: str, message: str = "") -> Story:
    """The pod's events say this."""
    return story.tell(events.PodTold(story.at, 0, "pod-0", reason, message))


def waits_for_image(story: Story, reason: str, message: str) -> Story:
    """The kubelet shows this of the only rank."""
    return story.sees(pod(0, gate=None, node="compute1", waiting=reason, waiting_message=message))


def test_the_events_of_a_pod_are_looked_at_when_it_is_bound_and_says_nothing() -> None:
    story = bound()
    assert not story.wants(do.FollowEvents), "most pods are quicker"
    assert story.wake is not None
    story.after(9)
    assert story.wants(do.FollowEvents) == [do.FollowEvents(0, "pod-0")]
    story.sees(pulling(0, NOT_FOUND))
    assert not story.wants(do.FollowEvents), "its status says it better"


def test_of_many_silent_pods_one_is_looked_at() -> None:
    story = batch(64).created().sees(*(pod(rank, gate=None, node=f"compute{rank + 1}") for rank in range(64)))
    assert len(story.after(9).wants(do.FollowEvents)) == 1


def test_another_node_than_the_batch_node_looks_at_no_events() -> None:
    story = member().began().workload().sees(pod(1, gate=None, node="compute2")).after(9)
    assert not story.wants(do.FollowEvents)


def test_a_missing_secret_is_the_jobs_fault_once_it_has_lasted() -> None:
    story = told(bound(), "FailedMount", MISSING).after(14)
    assert story.judgement() is None
    story.sees(pod(0, gate=None, node="compute1", unschedulable=""))
    assert story.run.suspicions, "a status that says nothing takes nothing back"
    story.after(2)
    judgement = story.judgement()
    assert judgement is not None and (judgement.verdict, judgement.fault) == (Verdict.JOB, "volume-missing")
    assert 'secret "nothing" not found' in judgement.sentence


def test_a_mount_that_succeeds_at_last_is_forgiven() -> None:
    story = told(told(bound(), "FailedMount", MISSING), "").after(20)
    assert story.judgement() is None and not story.run.suspicions


def test_a_pod_that_runs_is_not_asked_why_it_does_not() -> None:
    story = told(bound().sees(ready(0)), "FailedMount", MISSING)
    assert not story.run.suspicions


def test_a_long_pull_is_told_at_the_deadline() -> None:
    story = told(bound(), "Pulling", 'Pulling image "registry:5000/skb/small:1"').after(301)
    judgement = story.judgement()
    assert judgement is not None and (judgement.verdict, judgement.fault) == (Verdict.SHARED, "image-pulling")
    assert "image registry:5000/skb/small:1 is still being pulled (rank 0 on compute1)" in judgement.sentence


def test_a_back_off_without_a_cause_takes_no_cause_back() -> None:
    """Before Kubernetes 1.32 the kubelet tells the cause for a moment, then pauses for longer and longer."""
    story = waits_for_image(bound(), "ErrImagePull", NOT_FOUND).after(10)
    waits_for_image(story, "ImagePullBackOff", BACKOFF).after(11)
    judgement = story.judgement()
    assert judgement is not None and judgement.fault == "image-missing"
    assert "not found" in judgement.sentence


def test_a_back_off_alone_is_nobodys_fault() -> None:
    story = waits_for_image(bound(), "ImagePullBackOff", BACKOFF).after(60)
    assert story.judgement() is None


def test_replay_equals_memory() -> None:
    story = told(bound(), "FailedMount", MISSING).after(16)
    assert story.replayed() == story.run


@pytest.mark.parametrize("waiting", ["SomethingNew", "ImageInspectError"])
def test_what_no_row_describes_is_waited_for_and_told_in_its_own_words(waiting: str) -> None:
    story = waits_for_image(bound(), waiting, "of the future").after(100)
    assert story.judgement() is None
    judgement = story.after(201).judgement()
    assert judgement is not None and (judgement.verdict, judgement.fault) == (Verdict.SHARED, "unknown")
    assert f"{waiting}: of the future" in judgement.sentence


def test_status_counts_what_no_row_describes(world: World) -> None:
    node, job = world.node(), world.job()
    assert node.ask(verb="status")["unknown"] == {"count": 0, "last": ""}
    world.cluster.rest()
    hook = node.prolog(job)
    eventually(world.workloads)
    world.cluster.make_pods(job.workload)
    node.until(lambda run: run.opened, job)
    world.cluster.wait_for_image(job.pod(0), "SomethingNew", "of the future")
    eventually(lambda: node.ask(verb="status")["unknown"]["count"] == 1)
    assert "SomethingNew: of the future" in node.ask(verb="status")["unknown"]["last"]
    world.cluster.start(job.pod(0))
    assert hook.exit() == 0


def test_what_the_events_of_a_pod_say_is_posted_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    kube, posted = FakeKubernetes(), list[events.Event]()
    said = {"type": "Warning", "reason": "FailedMount", "message": MISSING, "involvedObject": {"uid": "pod-0"}}
    kube.put("event", {"metadata": {"name": "e", "namespace": NAMESPACE}, **said})
    work = ClusterWork(CONFIG, kube, LogHub(kube), tuple).works()[do.FollowEvents]
    task = Task(bound().run, do.FollowEvents(0, "pod-0"), posted.append)
    monkeypatch.setattr(task.stop, "wait", lambda _pause: len(kube.faults.calls) > 2)
    assert work(task) is None
    (event,) = posted
    assert isinstance(event, events.PodTold)
    assert (event.rank, event.uid, event.reason, event.message) == (0, "pod-0", "FailedMount", MISSING)


def test_an_evicted_rank_is_told_as_such_although_its_container_has_ended() -> None:
    message = 'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". '
    evicted = ended(0, 137)
    story = batch(1).created().sees(ready(0))
    story.sees(pod(0, gate=None, node="compute1", phase="Failed", ended=evicted.ended,
                   failure="Evicted", failure_message=message)).after(2)  # fmt: skip
    outcome = story.outcome()
    assert outcome is not None and (outcome.exit_code, outcome.fault) == (75, "evicted-for-storage")
