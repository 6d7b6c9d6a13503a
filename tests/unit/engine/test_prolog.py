"""The prolog's wait: who is let through when, and who is told what."""

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.prolog import last_moment
from bridge.engine.rules import Rules
from bridge.engine.state import Answer, Effort, Phase, SpecFile, Workload
from bridge.job.faults import Verdict
from bridge.job.pods import PodFacts

from .story import Story, allocation, batch, ended, member, pod, pulling, ready, record

NOT_FOUND = "failed to resolve reference: registry:5000/skb/nothing:1: not found"


def settled(story: Story) -> Story:
    """slurmctld took the report and the cancellation."""
    story.tell(events.Reported(story.at, story.run.sentence))
    if story.run.cancel is Effort.WANTED:
        story.tell(events.Cancelled(story.at))
    return story


def test_nothing_is_created_before_slurmctld_and_node_have_spoken() -> None:
    story = batch().began()
    assert story.wants(do.LearnJob) and story.wants(do.ProveNode)
    assert not story.wants(do.CreateWorkload)
    story.tell(events.JobLearned(story.at, record()))
    assert not story.wants(do.CreateWorkload)
    story.tell(events.NodeProven(story.at, 2))
    assert len(story.wants(do.CreateWorkload)) == 1
    story = batch().began().tell(events.NodeProven(100.0, 2))
    assert not story.wants(do.CreateWorkload) and story.judgement() is None and not story.run.manifest


def test_the_gate_is_opened_once_for_the_own_pod_only() -> None:
    story = batch().created().sees(pod(0), pod(1))
    (gate,) = story.wants(do.OpenGate)
    assert isinstance(gate, do.OpenGate) and gate.uid == "pod-0"
    story.tell(events.GateOpened(story.at, "pod-0"))
    story.sees(pod(0, uid="pod-0-again"))
    assert not story.wants(do.OpenGate), "a pod made again later stays behind its gate"


def test_no_gate_is_opened_for_a_pod_that_is_gone() -> None:
    story = batch().created().sees(pod(0))
    story.tell(events.PodGone(story.at, 0, "another-pod"))
    assert story.wants(do.OpenGate), "what is gone was another pod of that rank"
    story.tell(events.PodGone(story.at, 0, "pod-0"))
    assert not story.wants(do.OpenGate)


def test_a_pod_of_a_rank_that_the_run_does_not_have_is_none_of_its_pods() -> None:
    assert list(batch().created().sees(pod(0), pod(2)).run.pods) == [0]


def test_another_workload_of_that_name_says_nothing_about_this_one() -> None:
    story = batch().created().workload(uid="another", deleting=True)
    assert (story.run.workload, story.run.workload_uid) == (Workload.LIVE, "job-uid")


def test_no_gate_is_opened_for_a_pod_that_is_on_its_way_out() -> None:
    assert batch().created().sees(pod(0)).wants(do.OpenGate)
    assert not batch().created().sees(pod(0, deleting=True)).wants(do.OpenGate)


@pytest.mark.parametrize("gpus", [0, 2])
def test_no_gate_is_opened_by_a_node_that_is_not_proven(gpus: int) -> None:
    story = Story(allocation(node="compute2", gpus=gpus)).began().workload().sees(pod(1))
    assert not story.wants(do.OpenGate)
    story.tell(events.NodeProven(story.at, gpus))
    assert len(story.wants(do.OpenGate)) == 1


def test_the_batch_node_waits_for_all_pods() -> None:
    story = batch().created().sees(ready(0), pod(1))
    assert story.answer() is None
    story.sees(ready(1))
    assert story.run.prolog_answer == Answer(0)
    assert story.run.phase is Phase.RUNNING
    assert story.run.sentence == "2/2 pods ready on compute[1-2] after 0.0 s"


def test_a_rank_that_has_ended_counts_as_started() -> None:
    story = batch().created().sees(ended(0, 0), ready(1))
    assert story.run.prolog_answer == Answer(0)


def test_a_run_that_failed_before_all_had_started_is_let_through_to_attach() -> None:
    story = batch().created().sees(pod(0, gate=None), ended(1, 3))
    assert story.answer() is None
    story.workload(failed=True)
    assert story.run.prolog_answer == Answer(0)
    assert story.after(2).run.outcome is not None


@pytest.mark.parametrize(
    "waiting",
    [
        pod(0, gate=None, unschedulable="0/2 nodes are available: 1 Insufficient nvidia.com/gpu."),
        pod(0, gate=None, node="compute1", phase="Failed", failure="UnexpectedAdmissionError"),
    ],
)
def test_what_nobody_will_believe_here_keeps_no_run_that_has_failed(waiting: PodFacts) -> None:
    """The operator makes no other pod in the place of this one."""
    story = batch().created().sees(waiting, ended(1, 3))
    assert story.run.suspicions and story.answer() is None
    assert story.workload(failed=True).answer() == Answer(0)
    assert story.tell(events.PodGone(story.at, 0, "pod-0", proven=True)).after(2).run.outcome is not None


def test_the_verdict_comes_from_the_pod_that_has_not_started() -> None:
    lacking = pod(
        0, gate=None, node="compute1", waiting="CreateContainerConfigError", waiting_message='secret "s" not found'
    )
    story = batch().created().sees(lacking, ended(1, 1)).workload(failed=True)
    assert story.answer() is None
    story.after(25)
    assert story.run.judgement is not None
    assert story.run.judgement.verdict is Verdict.JOB
    assert 'secret "s" not found' in story.run.judgement.sentence


@pytest.mark.parametrize(
    ("other", "verdict"), [(pulling(1, NOT_FOUND), Verdict.JOB), (pod(1), Verdict.JOB), (ready(1), Verdict.SHARED)]
)
def test_an_image_that_another_node_has_got_is_not_the_users_mistake(other: PodFacts, verdict: Verdict) -> None:
    story = batch().created().sees(pulling(0, NOT_FOUND), other).after(25)
    assert story.run.judgement is not None and story.run.judgement.verdict is verdict
    assert "does not exist in its registry" in story.run.judgement.sentence


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (NOT_FOUND, Verdict.JOB),
        ("401 Unauthorized", Verdict.JOB),
        ("unexpected status 503 Service Unavailable", None),
        ("dial tcp 10.0.0.1:5000: i/o timeout", None),
    ],
)
def test_image_faults(message: str, verdict: Verdict | None) -> None:
    story = batch(1).created().sees(pulling(0, message)).after(19)
    assert story.judgement() is None, "the first answer of a registry is not believed"
    story.after(2)
    assert (story.run.judgement.verdict if story.run.judgement else None) is verdict


def test_a_job_fault_tells_cancels_deletes_and_only_then_answers() -> None:
    story = batch(1).created().sees(pulling(0, NOT_FOUND)).after(21)
    assert story.answer() is None
    assert story.wants(do.Report) and not story.wants(do.CancelJob)
    assert story.wants(do.DeleteWorkload)
    story.tell(events.Reported(story.at, story.run.sentence))
    assert story.wants(do.CancelJob)
    story.tell(events.Cancelled(story.at))
    assert story.run.prolog_answer is not None
    assert (story.run.prolog_answer.exit, story.run.prolog_answer.output) == (0, "/home/ml/slurm-7.out")


def test_what_was_deleted_for_a_verdict_is_not_made_again() -> None:
    story = batch(1).created().sees(pulling(0, NOT_FOUND)).after(21)
    story.tell(events.WorkloadDeleted(story.at, "job-uid")).tell(events.WorkloadGone(story.at))
    assert story.answer() is None
    assert not story.wants(do.CreateWorkload) and not story.wants(do.DeleteWorkload)


def test_a_workload_that_may_have_been_made_is_deleted_for_a_verdict() -> None:
    """The answer to its creation is not there yet."""
    story = batch().began().learned()
    assert story.wants(do.CreateWorkload)
    story.tell(events.JobLearned(story.at, record(states=frozenset({"CANCELLED", "COMPLETING"}))))
    assert story.wants(do.DeleteWorkload) and not story.wants(do.CreateWorkload)


def test_a_job_that_could_not_be_cancelled_gets_no_line_in_its_output_file() -> None:
    """The script will start, slurmstepd truncates the file, and attach tells instead."""
    story = batch(1).created().sees(pulling(0, NOT_FOUND)).after(21)
    story.tell(events.Reported(story.at, story.run.sentence))
    story.tell(events.Cancelled(story.at, given_up="no token"))
    assert story.run.prolog_answer is not None and story.run.prolog_answer.output is None


def test_slurmrestd_that_never_answers_does_not_hold_the_verdict() -> None:
    story = batch(1).created().sees(pulling(0, NOT_FOUND)).after(21).after(21)
    assert story.run.prolog_answer is not None and story.run.prolog_answer.exit == 0


def test_a_bad_spec_is_refused_after_slurmctld_named_the_output_file() -> None:
    story = batch().began(SpecFile("/home/ml/job.yaml", error="cannot read /home/ml/job.yaml: no such file"))
    assert story.judgement() is None
    story.tell(events.JobLearned(story.at, record()))
    assert story.run.judgement is not None and story.run.judgement.verdict is Verdict.JOB
    assert not story.wants(do.CreateWorkload)
    settled(story)
    assert story.run.prolog_answer is not None and story.run.prolog_answer.output == "/home/ml/slurm-7.out"


def test_salloc_is_refused() -> None:
    story = batch().began().tell(events.JobLearned(100.0, record(batch=False)))
    assert story.run.judgement is not None and "salloc" in story.run.judgement.sentence


@pytest.mark.parametrize(("given", "words"), [((1, 1), "1 of the 2 GPUs"), ((2, 1), "unequal numbers of GPUs")])
def test_gpus_that_pods_cannot_be_held_to_are_refused(given: tuple[int, int], words: str) -> None:
    story = batch().began().tell(events.JobLearned(100.0, record(gpus=given))).tell(events.NodeProven(100.0, 2))
    assert story.run.judgement is not None and words in story.run.judgement.sentence


def test_a_workload_is_made_once_whatever_becomes_of_it() -> None:
    story = batch().created()
    assert story.run.manifest and not story.wants(do.CreateWorkload)
    for seen in ({}, {"deleting": True}):
        assert not story.workload(**seen).wants(do.CreateWorkload)
    assert not story.tell(events.WorkloadGone(story.at)).wants(do.CreateWorkload)


def test_slurmctld_is_not_asked_while_a_training_goes_on() -> None:
    story = batch().created().sees(pod(0), pod(1))
    assert story.wants(do.PollJob)
    story.sees(ready(0), ready(1)).tell(events.Reported(story.at, story.run.sentence))
    assert story.answer() is not None
    assert not story.wants(do.PollJob)


def test_a_cancelled_job_is_noticed_while_waiting() -> None:
    story = batch().created().sees(pod(0), pod(1))
    assert story.wants(do.PollJob)
    story.tell(events.JobLearned(story.at, record(states=frozenset({"CANCELLED", "COMPLETING"}))))
    assert story.run.prolog_answer is not None and story.run.prolog_answer.exit == 0
    assert story.wants(do.DeleteWorkload)
    assert not story.run.consent


def test_a_refusal_of_the_api_server_is_the_jobs_fault() -> None:
    story = batch().began().tell(events.JobLearned(100.0, record())).tell(events.NodeProven(100.0, 2))
    story.tell(events.Refused(story.at, "Kubernetes refuses the workload: exceeded quota"))
    assert story.run.judgement is not None and story.run.judgement.verdict is Verdict.JOB
    assert story.run.workload is Workload.NONE
    assert not story.wants(do.DeleteWorkload)


def test_the_deadline_is_nobodys_fault_and_says_what_it_waited_for() -> None:
    story = batch().created().sees(ready(0), pulling(1, "503 Service Unavailable")).after(301)
    assert story.run.judgement is not None
    assert story.run.judgement.verdict is Verdict.SHARED
    assert "could not be pulled in time (rank 1 on compute2)" in story.run.judgement.sentence


def test_pods_that_start_in_the_moment_of_the_deadline_are_let_through() -> None:
    """Nobody has woken for the deadline when the last pod is seen: it has nothing more to wait for."""
    story = batch().created().sees(ready(0), pod(1, gate=None))
    assert story.wake is not None
    story.at = last_moment(story.config, story.run) + 0.001
    story.sees(ready(1))
    assert story.answer() == Answer(0) and story.judgement() is None
    assert story.replayed() == story.run


def test_pods_that_start_after_the_deadline_was_told_change_nothing() -> None:
    story = batch().created().sees(ready(0), pod(1, gate=None))
    story.tell(events.Ticked(last_moment(story.config, story.run)))
    story.sees(ready(1))
    assert story.run.judgement is not None and story.run.judgement.verdict is Verdict.SHARED
    assert story.answer() is None, "it is told and requeued first"
    assert story.replayed() == story.run


def test_a_kubelets_refusal_drains_its_own_node_alone() -> None:
    refused = pod(1, gate=None, node="compute2", phase="Failed", failure="UnexpectedAdmissionError")
    other = batch().created().sees(ready(0), refused)
    assert other.judgement() is None, "the batch node does not judge another node"
    own = member().began().workload().sees(refused).counted()
    assert own.run.prolog_answer is not None and own.run.prolog_answer.exit == 1


def test_a_wrong_node_is_drained() -> None:
    story = member().began().tell(events.NodeAccused(100.0, "the Node compute2 is another machine")).counted()
    assert story.run.prolog_answer is not None and story.run.prolog_answer.exit == 1


def test_every_wait_in_the_prolog_has_an_end() -> None:
    for story in (batch().began(), batch().created(), member().began()):
        assert story.wake is not None and story.wake <= 300


def test_replay_equals_memory() -> None:
    story = batch().created().sees(pod(0), pod(1), ready(0), pulling(1, NOT_FOUND)).after(25)
    settled(story).tell(events.EpilogBegan(story.at))
    assert story.replayed() == story.run


def test_a_replay_under_other_patiences_judges_no_training_that_runs() -> None:
    """The site lowers its deadline while jobs run, and restarts the daemon."""
    story = batch().created().after(250).sees(ready(0), ready(1))
    assert story.run.phase is Phase.RUNNING and story.run.judgement is None
    lower = story.config.model_copy(update={"timing": story.config.timing.model_copy(update={"prolog_deadline": 60.0})})
    assert story.replayed(lower) == story.run


def test_a_run_of_before_there_were_rules_goes_by_what_is_configured() -> None:
    story = Story(allocation(), rules=Rules()).began()
    assert story.run.rules.applied(story.config) is story.config
