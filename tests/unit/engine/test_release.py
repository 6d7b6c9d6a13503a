"""The epilog: law 1. Nothing but proof releases a node."""

from collections.abc import Callable

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.release import epilog_answer, obstacle
from bridge.engine.state import Answer, Phase, Workload
from bridge.engine.wanted import wanted

from .story import Story, batch, member, pod, ready, record


def released_batch() -> Story:
    """A batch node at the beginning of its epilog."""
    story = batch().created().sees(ready(0), ready(1))
    return story.tell(events.EpilogBegan(story.at))


def test_consent_ends_first() -> None:
    story = batch().created().sees(pod(0), pod(1))
    assert story.wants(do.OpenGate)
    story.tell(events.EpilogBegan(story.at))
    assert not story.wants(do.OpenGate)
    assert not story.run.consent


def test_the_way_to_a_proven_release() -> None:
    story = released_batch()
    (delete,) = story.wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.uid == "job-uid"
    assert not story.wants(do.ProveGone), "nothing is proven while the pod is still seen"
    story.tell(events.WorkloadDeleted(story.at, "job-uid"))
    story.tell(events.PodGone(story.at, 0, "pod-0"))
    assert story.wants(do.ProveGone)
    story.tell(events.PodsClear(story.at))
    (scan,) = story.wants(do.ScanNode)
    assert isinstance(scan, do.ScanNode) and scan.uids == ("pod-0",)
    assert epilog_answer(story.run) is None
    story.tell(events.Scanned(story.at, ()))
    assert story.run.phase is Phase.RELEASED
    assert epilog_answer(story.run) == Answer(0)


def test_a_living_process_holds_the_node() -> None:
    story = released_batch().tell(events.WorkloadDeleted(100.0, "job-uid")).tell(events.PodsClear(100.0))
    story.tell(events.Scanned(story.at, ("process 4711 (python): cgroup of pod pod-0",)))
    assert story.run.phase is Phase.RELEASE
    assert story.wants(do.ScanNode)
    story.after(3301)
    answer = epilog_answer(story.run)
    assert answer is not None and answer.exit == 1 and answer.message is not None
    assert "process 4711" in answer.message


def test_a_scan_that_could_not_look_proves_nothing() -> None:
    story = released_batch().tell(events.WorkloadDeleted(100.0, "job-uid")).tell(events.PodsClear(100.0))
    story.tell(events.Scanned(story.at, (), error="/proc cannot be read"))
    assert story.run.phase is Phase.RELEASE


def test_a_scan_from_before_the_pods_were_clear_proves_nothing() -> None:
    story = released_batch().tell(events.Scanned(100.0, ()))
    assert story.run.phase is Phase.RELEASE


def test_a_list_from_before_the_epilog_proves_nothing() -> None:
    story = batch().created().sees(ready(0), ready(1))
    story.tell(events.PodsClear(story.at)).tell(events.EpilogBegan(story.at))
    assert not story.run.pods_clear and story.wants(do.DeleteWorkload) and not story.wants(do.ScanNode)


def test_an_unreachable_api_server_keeps_the_epilog_waiting_until_its_deadline() -> None:
    story = released_batch()
    for _ in range(50):
        story.tell(events.Failed(story.at + 10, "delete", "the API server does not answer"))
    assert epilog_answer(story.run) is None
    story.after(3301)
    answer = epilog_answer(story.run)
    assert answer is not None and answer.exit == 1


@pytest.mark.parametrize(("nodes", "first"), [(2, 10.0), (64, 10.0), (1024, 160.0)])
def test_a_pod_that_the_watch_still_shows_is_looked_for_less_and_less(nodes: int, first: float) -> None:
    story = batch(nodes).created().sees(ready(0)).tell(events.EpilogBegan(100.0))
    story.tell(events.WorkloadDeleted(100.0, "job-uid"))
    looked: list[float] = []
    while len(looked) < 6:
        assert story.wake is not None
        story.after(story.wake)
        if story.wants(do.ProveGone):
            looked.append(story.at - 100.0)
            story.tell(events.PodsRemain(story.at, ("pod-0",), "pod-0 is there"))
    assert looked == [first * times for times in (1, 2, 4, 8, 16, 24)]
    story.tell(events.PodGone(story.at, 0, "pod-0", proven=True))
    assert story.wants(do.ProveGone)


def test_what_keeps_it_waiting_is_told_at_each_station() -> None:
    story = batch().created().sees(ready(0), ready(1))
    story.tell(events.Failed(story.at, "events", "the training-operator has not made all pods yet"))
    assert obstacle(story.run) == ""
    story.tell(events.EpilogBegan(story.at))
    assert obstacle(story.run) == "its workload is not deleted yet", "the prolog's trouble is not the epilog's"
    story.tell(events.Failed(story.at, "delete", "no route to host"))
    assert obstacle(story.run) == "no route to host"
    story.tell(events.WorkloadDeleted(story.at, "job-uid"))
    assert obstacle(story.run) == "Kubernetes still shows its pods here"
    story.tell(events.PodsRemain(story.at, ("pod-0",), "Kubernetes still shows worker-0"))
    assert obstacle(story.run) == "Kubernetes still shows worker-0"
    story.tell(events.PodsClear(story.at))
    assert obstacle(story.run) == "no hook has scanned the node yet"
    story.tell(events.Scanned(story.at, (), error="/proc cannot be read"))
    assert obstacle(story.run) == "/proc cannot be read"
    story.tell(events.Scanned(story.at, ("process 4711 (python): is in pod pod-0",)))
    assert obstacle(story.run) == "still alive: process 4711 (python): is in pod pod-0"
    story.tell(events.Scanned(story.at, ()))
    assert obstacle(story.run) == ""


def test_a_second_epilog_begins_the_proof_anew() -> None:
    story = released_batch().after(3301)
    assert epilog_answer(story.run) is not None
    story.tell(events.EpilogBegan(story.at))
    assert epilog_answer(story.run) is None
    assert story.wants(do.DeleteWorkload)


def test_a_second_epilog_does_not_wait_for_the_pause_that_the_first_ones_failures_earned() -> None:
    story = released_batch()
    for _ in range(9):
        story.tell(events.Failed(story.at, "delete", "no route to host"))
    (delete,) = story.after(3301).wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.attempt == 9
    (delete,) = story.tell(events.EpilogBegan(story.at)).wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.attempt == 0


def test_a_create_without_an_answer_is_looked_for_by_name() -> None:
    story = batch().began()
    story.tell(events.JobLearned(story.at, record())).tell(events.NodeProven(story.at, 2))
    assert story.run.workload is Workload.UNKNOWN
    story.tell(events.EpilogBegan(story.at))
    (delete,) = story.wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.uid == ""
    assert not story.wants(do.ProveGone)
    story.tell(events.WorkloadGone(story.at))
    assert story.wants(do.ProveGone)


def test_what_a_watch_tells_while_a_creation_may_be_under_way_is_not_asked_for() -> None:
    """Another node may delete what the first try made, and the second one comes behind that (seed 6 of `memory` on
    ee49dc5)."""
    story = batch().began().tell(events.JobLearned(100.0, record())).tell(events.NodeProven(100.0, 2))
    story.tell(events.EpilogBegan(100.0))
    assert story.wants(do.DeleteWorkload) and not story.wants(do.WatchWorkload)
    (delete,) = story.tell(events.WorkloadCreated(100.0, "job-2")).wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.uid == "job-2"
    assert story.wants(do.WatchWorkload) and not story.wants(do.ProveGone)


def test_a_member_leaves_the_workload_to_the_batch_node_for_a_second() -> None:
    story = member().began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(1))
    story.tell(events.GateOpened(100.0, "pod-1")).sees(ready(1)).tell(events.EpilogBegan(100.0))
    assert not story.wants(do.LookForWorkload), "who deletes it shows in the pod"
    story.after(1.1)
    assert story.wants(do.LookForWorkload)
    assert not story.wants(do.DeleteWorkload), "it looks first"
    story.workload()
    assert story.wants(do.DeleteWorkload) and story.wants(do.WatchWorkload)
    assert not story.workload(deleting=True).wants(do.DeleteWorkload)


def test_a_member_looks_for_the_workload_when_its_pod_is_gone() -> None:
    """Somebody else than the garbage collector may have deleted the pod, and nobody the workload."""
    story = member().began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(1))
    story.tell(events.GateOpened(100.0, "pod-1")).sees(ready(1)).tell(events.EpilogBegan(100.0))
    story.tell(events.PodGone(100.1, 1, "pod-1"))
    assert story.wants(do.LookForWorkload) and not story.wants(do.WatchWorkload)
    assert not story.wants(do.ProveGone)
    story.workload()
    assert story.wants(do.WatchWorkload), "until the batch node deletes it"
    story.workload(deleting=True)
    assert story.wants(do.ProveGone)


def test_a_member_asks_after_its_workload_by_uid_where_another_one_has_its_name() -> None:
    """The answer says that its own is gone; without it the epilog would wait for that until its deadline."""
    story = member().began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(1))
    story.tell(events.EpilogBegan(100.0)).tell(events.PodGone(100.0, 1, "pod-1")).after(1.1)
    story.workload(uid="another")
    (delete,) = story.wants(do.DeleteWorkload)
    assert isinstance(delete, do.DeleteWorkload) and delete.uid == "job-uid"


def test_a_node_that_follows_the_run_goes_on_to_watch_its_workload() -> None:
    story = member().began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(1))
    story.tell(events.Attached(100.0)).tell(events.EpilogBegan(100.0))
    assert story.wants(do.WatchWorkload)


@pytest.mark.parametrize(("begin", "rank"), [(batch, 0), (member, 1)])
def test_a_pod_is_left_to_the_garbage_collector_for_two_seconds(begin: Callable[[], Story], rank: int) -> None:
    """It has the deletion of the workload to go by, and a delete from each of a thousand nodes is a thousand more."""
    story, uid = begin(), f"pod-{rank}"
    story.began().workload().tell(events.NodeProven(100.0, 2)).sees(pod(rank))
    story.tell(events.GateOpened(100.0, uid)).sees(ready(rank)).tell(events.EpilogBegan(100.0))
    story.tell(events.WorkloadDeleted(100.0, "job-uid"))
    while not story.wants(do.DeletePod):
        assert story.wake is not None, "the pod is forgotten"
        story.after(story.wake)
    assert story.at - 100.0 == pytest.approx(2.0 + 0.05 * rank)
    (delete,) = story.wants(do.DeletePod)
    assert isinstance(delete, do.DeletePod) and delete.uid == uid
    story.sees(pod(rank, deleting=True))
    assert not story.wants(do.DeletePod)


def test_a_bare_epilog_sweeps_by_job_id() -> None:
    story = member()
    story.tell(events.EpilogBegan(100.0, None, "demo", 7))
    (sweep,) = story.wants(do.SweepJob)
    assert isinstance(sweep, do.SweepJob) and sweep.job_id == 7
    story.tell(events.PodsRemain(story.at, ("pod-9",))).tell(events.PodsClear(story.at))
    (scan,) = story.wants(do.ScanNode)
    assert isinstance(scan, do.ScanNode) and scan.uids == ("pod-9",)
    story.tell(events.Scanned(story.at, ()))
    assert epilog_answer(story.run) == Answer(0)


def test_an_epilog_of_a_run_that_the_journal_lost_releases_by_name() -> None:
    story = batch()
    story.tell(events.EpilogBegan(100.0, story.here, "demo", 7))
    assert story.wants(do.DeleteWorkload)
    assert story.run.phase is Phase.RELEASE


def test_a_released_run_wants_nothing() -> None:
    story = released_batch().tell(events.WorkloadDeleted(100.0, "job-uid")).tell(events.PodsClear(100.0))
    story.tell(events.Scanned(story.at, ()))
    assert not wanted(story.run, story.at)
    assert story.wake is None
    assert story.replayed() == story.run


def test_an_epilog_of_a_released_run_has_nothing_to_prove() -> None:
    story = released_batch().tell(events.WorkloadDeleted(100.0, "job-uid")).tell(events.PodsClear(100.0))
    story.tell(events.Scanned(story.at, ())).tell(events.EpilogBegan(story.at + 1))
    assert epilog_answer(story.run) == Answer(0) and not wanted(story.run, story.at)


def test_a_run_that_created_nothing_needs_no_proof_of_the_api_server() -> None:
    story = batch(1).began().tell(events.EpilogBegan(100.0))
    assert not story.wants(do.ProveGone) and story.wants(do.ScanNode)
    story.tell(events.Scanned(story.at, ()))
    assert story.run.phase is Phase.RELEASED


def test_another_node_than_the_batch_node_cannot_know_what_was_created() -> None:
    story = member().began().tell(events.EpilogBegan(100.0))
    assert not story.wants(do.ScanNode) and story.wants(do.ProveGone)


def test_a_run_that_came_to_a_manifest_may_have_created_it() -> None:
    story = batch(1).began().tell(events.JobLearned(100.0, record(1))).tell(events.NodeProven(100.0, 2))
    story.tell(events.EpilogBegan(100.0))
    assert not story.wants(do.ScanNode) and story.wants(do.DeleteWorkload)


def test_a_refusal_that_comes_after_the_epilog_is_no_proof_for_the_next_one() -> None:
    story = batch(1).began().tell(events.JobLearned(100.0, record(1))).tell(events.NodeProven(100.0, 2))
    story.tell(events.EpilogBegan(100.0)).tell(events.Refused(101.0, "exceeded quota"))
    story.tell(events.EpilogBegan(102.0))
    assert not story.wants(do.ScanNode) and story.wants(do.ProveGone)
