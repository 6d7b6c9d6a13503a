"""What the batch node refuses before anything is rendered, each in one sentence."""

from dataclasses import replace

import pytest

from bridge.engine import activities as do
from bridge.engine import events, prolog
from bridge.errors import SpecError
from bridge.job.faults import Verdict
from bridge.slurm.environ import Allocation

from .story import Story, allocation, batch, ended, pod, ready, record


def refusal(here: Allocation) -> str:
    """The sentence that this job's owner is told."""
    story = Story(here).began()
    story.tell(events.JobLearned(story.at, record(len(here.nodes))))
    judgement = story.run.judgement
    assert judgement is not None and judgement.verdict is Verdict.JOB
    return judgement.sentence


@pytest.mark.parametrize(
    ("here", "words"),
    [
        (replace(allocation(), comment="k8s=a.yaml k8s=b.yaml"), "names several spec files"),
        (replace(allocation(), comment="k8s="), "names no file"),
        (replace(allocation(), extra="k8s=", comment="k8s=a.yaml"), "--extra names no file"),
        (replace(allocation(), het_job_id=7), "heterogeneous"),
    ],
)
def test_refused_in_one_sentence(here: Allocation, words: str) -> None:
    assert words in refusal(here)


def test_without_a_usable_slurmrestd_the_environment_must_do() -> None:
    """Tier none: the run goes on with what slurmd told; nothing is reported or cancelled."""
    story = Story(allocation(("compute1",))).began()
    story.tell(events.NotReporting(story.at, "slurmrestd serves none of v0.0.42, v0.0.41, v0.0.40"))
    story.tell(events.NodeProven(story.at, 2))
    assert story.wants(do.CreateWorkload) and not story.wants(do.LearnJob)
    story.tell(events.WorkloadCreated(story.at, "job-uid"))
    assert not story.wants(do.PollJob)
    story.sees(ready(0))
    assert story.run.prolog_answer is not None
    assert not story.wants(do.Report)


def test_what_only_slurmctld_knows_is_not_guessed() -> None:
    """The GPUs of the other nodes: slurmd tells each node its own only."""
    story = Story(allocation()).began()
    story.tell(events.NotReporting(story.at, "no token")).tell(events.NodeProven(story.at, 2))
    assert story.run.judgement is not None and "is not known (no token)" in story.run.judgement.sentence
    assert story.run.prolog_answer is not None and story.run.prolog_answer.exit == 0


def test_a_spec_that_breaks_the_renderer_ends_its_own_job_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """RecursionError out of a nested spec must not leave the engine: it would take every other job with it."""

    def broken(*_: object) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(prolog, "rendered", broken)
    story = Story(allocation()).began()
    story.tell(events.JobLearned(story.at, record())).tell(events.NodeProven(story.at, 2))
    assert story.run.judgement is not None and story.run.judgement.verdict is Verdict.JOB
    assert "RecursionError" in story.run.judgement.sentence


def test_a_thousand_reasons_are_told_as_twenty() -> None:
    told = str(SpecError([f"spec.x{number}: " + "y" * 5000 for number in range(1000)]))
    assert len(told) < 16_000 and told.endswith("and 980 more")


def test_of_two_verdicts_the_first_one_stands() -> None:
    story = batch(1).began().learned().tell(events.Refused(100.0, "exceeded quota", "quota", Verdict.JOB))
    first = story.judgement()
    assert first is not None and first.sentence == "exceeded quota"
    assert story.tell(events.HookLeft(101.0)).judgement() == first


def test_a_word_is_refused_without_slurmctlds_answer_when_it_has_failed_to_come_three_times() -> None:
    story = Story(replace(allocation(), comment="k8s=")).began()
    for _ in range(2):
        story.tell(events.Failed(story.at, "learn", "no answer from slurmrestd"))
    assert story.judgement() is None, "its answer names the output file, which is told the reason, too"
    story.tell(events.Failed(story.at, "learn", "no answer from slurmrestd"))
    assert story.judgement() is not None


def test_a_rank_that_has_started_is_not_judged_for_what_a_container_beside_it_lacks() -> None:
    """While any pod has not started, the verdict comes from the one that has not."""
    beside = replace(ended(0, 0), waiting="ErrImagePull", waiting_message="sidecar:1: not found")
    story = Story(allocation()).created().sees(beside, pod(1)).after(25)
    assert story.run.suspicions and story.run.judgement is None


def test_a_component_of_a_heterogeneous_job_speaks_to_its_leader() -> None:
    """The first component to be refused ends them all, and after that no comment reaches the leader any more."""
    story = Story(replace(allocation(), job_id=8, het_job_id=7)).began()
    assert story.wants(do.LearnJob) == [do.LearnJob(7, 0)]
    story.tell(events.JobLearned(story.at, record()))
    assert story.run.record is not None and story.run.record.job_id == 7
