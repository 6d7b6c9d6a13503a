"""How long somebody tries to tell the job's owner by the job's comment."""

import base64

import pytest

from bridge.engine import activities as do
from bridge.engine import events, executor
from bridge.engine.state import Phase, SpecFile
from bridge.errors import Unavailable

from .node import eventually
from .story import Story, batch, ended, ready, record
from .world import World


def failed(story: Story, times: int) -> None:
    for _ in range(times):
        story.tell(events.Failed(story.at, "report", "slurmrestd does not answer"))


def test_a_prolog_waits_for_a_few_tries() -> None:
    spec = SpecFile("/home/ml/job.yaml", base64.b64encode(b"kind: Sonata").decode())
    story = batch(1).began(spec)
    story.tell(events.NodeProven(story.at, 2)).tell(events.JobLearned(story.at, record(1)))
    story.tell(events.Cancelled(story.at))
    failed(story, 4)
    assert (story.answer(), story.wants(do.Report)) == (None, [do.Report(story.run.sentence, 4)])
    failed(story, 1)
    assert story.answer() is not None and story.wants(do.Report) == []


def test_while_the_job_runs_there_is_no_end_to_them() -> None:
    story = batch(1).created().sees(ready(0))
    failed(story, 100)
    assert story.run.phase is Phase.RUNNING
    assert story.wants(do.Report) == [do.Report(story.run.sentence, 100)]
    story.tell(events.Reported(story.at, story.run.sentence))
    assert story.wants(do.Report) == []


def test_what_there_is_to_tell_next_is_not_told_later_for_what_failed_before() -> None:
    story = batch(1).created().sees(ready(0))
    failed(story, 9)
    story.sees(ended(0, 3))
    assert story.wants(do.Report) == [do.Report(story.run.sentence, 0)]
    assert "rank 0" in story.run.sentence


def test_a_slurmrestd_that_is_away_for_longer_hears_of_it_when_it_is_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_FIRST_DELAY", 0.002)
    node, job = world.node(), world.job()
    world.rest.faults.fail("set_comment", *[Unavailable("no answer") for _ in range(8)])
    world.running(node, job)
    eventually(lambda: "1/1 pods ready" in world.comment(job))
    eventually(lambda: node.run(job).untold == "")  # told is a moment before the run hears that it was
