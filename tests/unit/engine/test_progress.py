"""What is told while pods wait for their images: on the node, and in the job's comment."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from bridge.engine import activities as do
from bridge.engine import events, progress
from bridge.job.pods import PodFacts, pod_facts

from .clients import Job
from .node import Node, eventually
from .story import Story, batch, member, pod, pulling, ready, record
from .world import NAMESPACE, World, config

IMAGE = "registry:5000/skb/small:1"
OFFSET = 1_700_000_000.0  # from the boot clock to the calendar


def at_work(rank: int, since: float, image: str = IMAGE) -> PodFacts:
    """A pod whose node fetches its image, since then by the boot clock."""
    stamp = datetime.fromtimestamp(since + OFFSET, UTC).isoformat()
    return pod(rank, gate=None, node=f"compute{rank + 1}", pulling=image, sandbox_at=stamp)


def dated(story: Story) -> Story:
    """Its prolog begins, and the calendar is known."""
    began = story.began().told[-1]
    assert isinstance(began, events.PrologBegan)
    return story.tell(replace(began, clock_offset=OFFSET))


def waiting(nodes: int, comment: str = "k8s=job.yaml") -> Story:
    """The batch node of a run whose nodes all pull since one second."""
    story = dated(batch(nodes))
    story.tell(events.JobLearned(story.at, record(nodes, gpus=(2,) * nodes, comment=comment)))
    story.tell(events.NodeProven(story.at, 2)).tell(events.WorkloadCreated(story.at, "job-uid"))
    return story.sees(*(at_work(rank, 101.0) for rank in range(nodes)))


def told(story: Story) -> str:
    return progress.sentence(story.run, story.at)


def reported(story: Story) -> list[str]:
    """What the job's comment is to say now; slurmctld takes it."""
    said = [item.sentence for item in story.wants(do.TellProgress) if isinstance(item, do.TellProgress)]
    for sentence in said:
        story.tell(events.ProgressTold(story.at, sentence))
    return said


def test_a_quick_pull_is_not_told_a_long_one_is_with_all_its_nodes() -> None:
    story = waiting(2).after(10)
    assert told(story) == ""
    story.after(31)
    assert told(story) == f"image {IMAGE} is being pulled on compute1, compute2 for 40 s"
    story.sees(ready(0))
    assert told(story) == f"image {IMAGE} is being pulled on compute2 for 40 s"
    story.sees(pulling(1, "dial tcp: i/o timeout"))
    assert told(story) == "", "what hinders it is told elsewhere"


def test_of_many_nodes_the_first_few_are_named() -> None:
    story = waiting(64).after(41)
    assert told(story) == f"image {IMAGE} is being pulled on compute1, compute2, compute3 and 61 more nodes for 40 s"


def test_a_stamp_that_is_no_time_tells_nothing_and_ends_nothing() -> None:
    story = waiting(1).sees(pod(0, gate=None, node="compute1", pulling=IMAGE, sandbox_at="soon")).after(41)
    assert told(story) == ""
    assert progress.due(config(), story.run) is None, "no timer takes an endless time"


def test_two_images_are_told_apart_and_more_are_not() -> None:
    story = waiting(3).sees(at_work(1, 105.0, "b"), at_work(2, 106.0, "c")).after(41)
    assert (
        told(story)
        == f"image {IMAGE} is being pulled on compute1 for 40 s; image b is being pulled on compute2 for 36 s"
    )


def test_the_comment_is_set_after_ten_seconds_and_then_less_and_less_often() -> None:
    story, moments = waiting(1), []
    began = story.at
    while story.answer() is None and story.judgement() is None and story.wake is not None:
        story.after(story.wake)
        if reported(story):
            moments.append(round(story.at - began))
    assert moments == [11, 31, 91, 271]
    assert story.replayed() == story.run


@pytest.mark.parametrize("comment", ["k8s=job.yaml", "k8s=job.yaml | k8s: try 1 of 3 failed, requeued: the registry"])
def test_the_verdict_takes_the_place_of_progress_and_counts_the_tries_on(comment: str) -> None:
    story = waiting(1, comment).after(11)
    (said,) = reported(story)
    lead = "try 1 of 3 failed, now: " if "try" in comment else ""
    assert said == f"{lead}image {IMAGE} is being pulled on compute1 for 10 s"
    story.after(300)
    assert story.judgement() is not None
    assert not story.wants(do.TellProgress)
    (verdict,) = story.wants(do.Report)
    assert isinstance(verdict, do.Report) and verdict.sentence.startswith(
        f"try {2 if lead else 1} of 3 failed, requeued: "
    )


def test_pods_that_are_ready_take_the_place_of_progress_at_once() -> None:
    story = waiting(1).after(11).sees(ready(0))
    assert not story.wants(do.TellProgress), "though it has not been told yet"
    assert story.wants(do.Report)


def test_another_node_tells_of_itself_and_not_slurm() -> None:
    story = dated(member())
    story.tell(events.NodeProven(story.at, 2)).workload().sees(at_work(1, 101.0)).after(31)
    assert told(story) == f"image {IMAGE} is being pulled on compute2 for 30 s"
    assert not story.wants(do.TellProgress)


def test_before_kubernetes_1_29_the_pods_events_tell_of_it() -> None:
    story = batch(1).created().sees(pod(0, gate=None, node="compute1"))
    story.tell(events.PodTold(story.at, 0, "pod-0", "Pulling", f'Pulling image "{IMAGE}"')).after(31)
    assert told(story) == f"image {IMAGE} is being pulled on compute1 for 31 s"


# -- what a pod's status says


def facts(*states: dict[str, Any], initial: int = 0, sandbox: str = "True") -> str:
    """The image that is being pulled, where the containers stand so; the first ones are init containers."""
    names = [f"c{index}" for index in range(len(states))]
    containers = [{"name": name, "image": f"image-{name}"} for name in names]
    statuses = [{"name": name, "state": state} for name, state in zip(names, states, strict=True)]
    condition = {"type": "PodReadyToStartContainers", "status": sandbox, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    labels = {"training.kubeflow.org/replica-index": "0"}
    found = pod_facts(
        {
            "metadata": {"name": "p", "uid": "u", "labels": labels},
            "spec": {"initContainers": containers[:initial], "containers": containers[initial:]},
            "status": {
                "conditions": [condition],
                "initContainerStatuses": statuses[:initial],
                "containerStatuses": statuses[initial:],
            },
        }
    )
    assert found is not None
    return found.pulling


WAITS: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
LATER: dict[str, Any] = {"waiting": {"reason": "PodInitializing"}}
RUNS: dict[str, Any] = {"running": {}}
OVER: dict[str, Any] = {"terminated": {"exitCode": 0}}
FAULTY: dict[str, Any] = {"waiting": {"reason": "ErrImagePull"}}


def test_the_image_of_the_container_whose_turn_it_is() -> None:
    assert facts(WAITS) == "image-c0"
    assert facts(WAITS, sandbox="False") == ""
    assert facts(FAULTY) == facts(RUNS) == facts(OVER) == ""
    assert facts(RUNS, WAITS) == "image-c1"
    assert facts(LATER, LATER, initial=1) == "image-c0"
    assert facts(RUNS, LATER, initial=1) == "", "an init container may take its time"
    assert facts(OVER, LATER, initial=1) == "image-c1"


# -- on a node


@pytest.fixture
def slow(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[World, Node, Job]:
    """A node whose prolog waits for a pull."""
    monkeypatch.setattr(progress, "_WORTH", 0.5)
    node, job = world.node(given=config()), world.job("n1")
    world.cluster.rest()
    return world, node, job


def test_node_and_comment_tell_of_a_pull_until_the_pods_are_ready(slow: tuple[World, Node, Job]) -> None:
    world, node, job = slow
    hook = node.prolog(job)
    eventually(world.workloads)
    world.cluster.make_pods(job.workload)
    node.until(lambda run: run.opened, job)
    world.cluster.schedule(job.pod(0))
    condition = {"type": "PodReadyToStartContainers", "status": "True"}
    condition["lastTransitionTime"] = datetime.now(UTC).isoformat()
    status = {"name": "pytorch", "state": {"waiting": {"reason": "ContainerCreating"}}}
    world.kube.change("pod", NAMESPACE, job.pod(0), phase="Pending", conditions=[condition], containerStatuses=[status])
    said = f"image {IMAGE} is being pulled on n1 for "
    eventually(lambda: world.comment(job).startswith(f"my words, k8s=job.yaml | k8s: {said}"))
    assert node.ask(verb="show", job=job.id)["run"]["progress"].startswith(said)
    assert node.ask(verb="ps")["runs"][0]["progress"].startswith(said)
    world.cluster.start(job.pod(0))
    assert hook.exit() == 0
    eventually(lambda: "1/1 pods ready" in world.comment(job))
    assert node.ask(verb="show", job=job.id)["run"]["progress"] == ""
