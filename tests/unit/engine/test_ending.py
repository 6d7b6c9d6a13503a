"""What becomes of the Slurm job when its prolog's verdict is against it."""

from dataclasses import replace

import pytest

from bridge.config import Config
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Requeue, SpecFile

from .story import CONFIG, Story, allocation, record

UNREADABLE = SpecFile("/home/ml/job.yaml", error="cannot read /home/ml/job.yaml: no such file")
HOLDS = CONFIG.model_copy(update={"on_job_fault": "hold"})


def outlasted(comment: str = "k8s=job.yaml", **changes: object) -> Story:
    """The API server did not take the workload before the deadline; slurmctld takes every report."""
    story = Story(allocation(("compute1",))).began().tell(events.NodeProven(100.0, 2))
    story.tell(events.JobLearned(story.at, record(1, comment=comment, **changes)))
    story.tell(events.Failed(story.at, "create", "no answer from https://api: timed out"))
    story.after(CONFIG.timing.prolog_deadline)
    story.tell(events.Reported(story.at, story.run.sentence))
    return story


def refused(config: Config, **changes: object) -> Story:
    """The user's own mistake."""
    story = Story(allocation(("compute1",)), config).began(UNREADABLE)
    story.tell(events.JobLearned(story.at, record(1, **changes)))
    story.tell(events.Reported(story.at, story.run.sentence))
    return story


def requeue(story: Story) -> Requeue | None:
    answer = story.run.prolog_answer
    assert answer is not None and answer.exit == 0
    return answer.requeue


def test_a_shared_fault_puts_the_job_back_into_the_queue() -> None:
    story = outlasted()
    assert requeue(story) == Requeue("7", hold=False)
    assert story.run.sentence.startswith("try 1 of 3 failed, requeued: ")
    assert "timed out" in story.run.sentence
    assert not story.wants(do.CancelJob)


def test_the_third_time_it_is_held_and_a_released_one_begins_anew() -> None:
    comments, holds = "k8s=job.yaml", []
    for _ in range(4):
        story = outlasted(comments)
        order = requeue(story)
        assert order is not None
        holds.append(order.hold)
        comments = f"k8s=job.yaml | k8s: {story.run.sentence}"
    assert holds == [False, False, True, False]


def test_who_may_release_it_is_told() -> None:
    story = outlasted("k8s=job.yaml | k8s: try 2 of 3 failed, requeued: the registry is down")
    assert story.run.sentence.startswith("try 3 of 3 failed, held: ")
    assert story.run.sentence.endswith("when it is mended: scontrol release 7")


def test_a_run_that_was_ready_forgets_the_earlier_tries() -> None:
    assert outlasted("k8s=job.yaml | k8s: 1/1 pods ready").run.sentence.startswith("try 1 of 3")


def test_a_job_that_may_not_be_requeued_is_cancelled() -> None:
    story = outlasted(requeue=False)
    assert story.wants(do.CancelJob)
    story.tell(events.Cancelled(story.at))
    assert requeue(story) is None and story.run.sentence.startswith("failed: ")


@pytest.mark.parametrize(("restart", "hold"), [(0, False), (1, False), (2, True)])
def test_without_slurmrestd_the_hook_asks_for_the_name_and_the_restarts_count(restart: int, hold: bool) -> None:
    """The plain number of an array's last element would requeue the whole array; and no comment counts the tries."""
    story = Story(replace(allocation(("compute1",)), restart=restart)).began().tell(events.NodeProven(100.0, 2))
    story.tell(events.Failed(story.at, "learn", "no answer from slurmrestd"))
    story.after(CONFIG.timing.prolog_deadline).after(CONFIG.timing.prolog_deadline)
    assert requeue(story) == Requeue("", hold) and not story.wants(do.CancelJob)


def test_without_a_token_nobody_acts_for_the_owner_and_attach_tells() -> None:
    story = Story(allocation(("compute1",))).began().tell(events.NotReporting(100.0, "no token"))
    story.after(CONFIG.timing.prolog_deadline)
    assert requeue(story) is None and not story.wants(do.CancelJob)


def test_an_element_of_an_array_is_named_as_such() -> None:
    story = outlasted(array_job_id=7, array_task_id=3)
    assert requeue(story) == Requeue("7_3", hold=False)


def test_a_users_mistake_is_held_where_the_site_says_so() -> None:
    assert requeue(refused(HOLDS)) == Requeue("7", hold=True)
    assert refused(HOLDS).run.sentence.endswith("; then: scontrol release 7")
    assert refused(CONFIG).wants(do.CancelJob)
    assert refused(HOLDS, requeue=False).wants(do.CancelJob)


def test_a_component_of_a_heterogeneous_job_goes_with_its_leader() -> None:
    story = Story(replace(allocation(("compute1",)), job_id=8, het_job_id=7), HOLDS).began()
    story.tell(events.JobLearned(story.at, record(1)))
    story.tell(events.Reported(story.at, story.run.sentence))
    assert requeue(story) == Requeue("7", hold=True)
