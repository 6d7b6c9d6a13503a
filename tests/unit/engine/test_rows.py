"""The rows of the fault table that no object shows: the engine itself meets each of them in a story of its own."""

import base64
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import pytest

from bridge.engine import activities as do
from bridge.engine import events, prolog
from bridge.engine.breaker import outage
from bridge.engine.desk import Desk, Hook
from bridge.engine.door import Door
from bridge.engine.executor import Task
from bridge.engine.health import Contact
from bridge.engine.release import epilog_answer, hindrance
from bridge.engine.slurm_work import SlurmWork
from bridge.engine.state import SpecFile
from bridge.errors import Observed
from bridge.job.faults import Moment, Verdict, row
from bridge.messages.hook import DAEMON_SILENT
from bridge.slurmrest.api import Credential
from bridge.wire.frames import Channel
from bridge.wire.messages import HookRequest, mismatch
from tests.fakes.slurmrest import FakeSlurmRest

from .story import CONFIG, Story, allocation, batch, pod, ready, record


def waiting() -> Story:
    """A run on one node whose pod has not started."""
    return batch(1).created().sees(pod(0))


def spec(text: bytes) -> SpecFile:
    """A spec file with these bytes."""
    return SpecFile("/home/ml/job.yaml", base64.b64encode(text).decode())


JUDGED: dict[str, Callable[[], Story]] = {
    "spec-refused": lambda: batch().began(spec(b"kind: Pod")).learned(),
    "spec-unreadable": lambda: batch().began(SpecFile("j", error="cannot read j: not there; put it there")).learned(),
    "spec-word": lambda: Story(replace(allocation(), comment="k8s=")).began().learned(),
    "het-job": lambda: Story(replace(allocation(), het_job_id=7)).began().learned(),
    "salloc": lambda: batch().began().learned(batch=False),
    "allocation-unfit": lambda: batch().began().learned(gpus=(1, 1)),
    "gpus-unnamed": lambda: Story(allocation(gpus=0)).began().learned(gpus=(2, 2)),
    "job-over": lambda: waiting().tell(events.JobLearned(100.0, record(1, states=frozenset({"CANCELLED"})))),
    "job-unknown": lambda: waiting().tell(events.JobUnknown(100.0)),
    "hook-left": lambda: waiting().tell(events.HookLeft(100.0)),
    "hook-away": lambda: waiting().tell(events.HookLeft(100.0)).began(),
    "workload-deleted": lambda: waiting().tell(events.WorkloadGone(100.0)),
    "deadline": lambda: batch(1).began().learned().after(301),
    "operator-silent": lambda: batch(1).created().after(301),
    "not-started": lambda: waiting().after(301),
}


@pytest.mark.parametrize("name", JUDGED)
def test_a_judgement_names_its_row(name: str) -> None:
    judgement = JUDGED[name]().judgement()
    assert judgement is not None
    assert (judgement.fault, judgement.verdict) == (name, row(name).verdict)


def test_a_renderer_that_breaks_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(prolog, "rendered", broken)
    judgement = batch().began().learned().judgement()
    assert judgement is not None and judgement.fault == "spec-broken"


def test_a_refusal_keeps_the_row_and_the_verdict_that_it_was_journalled_with() -> None:
    story = batch(1).began().learned()
    story.tell(events.Refused(story.at, "a row of tomorrow", "of-the-future", Verdict.JOB))
    judgement = story.judgement()
    assert judgement is not None and (judgement.fault, judgement.verdict) == ("of-the-future", Verdict.JOB)
    assert story.replayed() == story.run


def test_a_refusal_of_an_older_journal_is_the_jobs_fault() -> None:
    told = events.from_json(b'{"at": 1.0, "sentence": "exceeded quota", "kind": "refused"}')
    assert isinstance(told, events.Refused) and (told.verdict, told.fault) == (Verdict.JOB, "")


def test_the_trouble_of_a_try_is_told_at_the_deadline_with_its_row() -> None:
    story = batch(1).began().learned()
    story.tell(events.Failed(story.at, "create", "the API server does not answer (x); …", "api-unreachable")).after(301)
    judgement = story.judgement()
    assert judgement is not None and judgement.verdict is Verdict.SHARED
    assert judgement.fault == "api-unreachable" and "does not answer (x)" in judgement.sentence


def test_a_pod_that_was_deleted_while_it_ran_is_a_row() -> None:
    outcome = batch(1).created().sees(ready(0)).tell(events.PodGone(100.0, 0, "pod-0")).outcome()
    assert outcome is not None and outcome.fault == "pod-deleted"


def test_what_holds_up_a_release_is_a_row() -> None:
    story = batch(1).created().sees(ready(0)).tell(events.EpilogBegan(100.0))
    assert hindrance(story.run).name == "pods-remain"
    story.tell(events.WorkloadDeleted(100.0, "job-uid")).tell(events.PodsClear(100.0))
    assert hindrance(story.run).name == "not-scanned"
    story.tell(events.Scanned(100.0, ("process 4711 (python)",)))
    assert hindrance(story.run).name == "leftovers"
    answer = epilog_answer(story.after(3301).run)
    assert answer is not None and answer.message is not None
    assert answer.message.endswith(row("leftovers").cure)
    assert row("leftovers").verdict_in(Moment.EPILOG) is Verdict.RETRY


def test_an_earlier_run_that_is_not_proven_gone_is_a_row() -> None:
    door, desk = Door(CONFIG), Desk()
    ended = batch(1).created().sees(ready(0)).tell(events.EpilogBegan(100.0)).after(3301).run
    with hook_of("prolog", {"SLURM_JOB_ID": "8"}) as hook:
        hook.arrived = ended.began
        answer = door.prolog(hook, {ended.key: ended}, desk, ended.began + 301).answer
    told = row("earlier-run").finding("slurm-demo-7-0", job=7)
    assert answer is not None and (answer.exit, answer.message) == (1, told.sentence)


def test_an_environment_that_says_nothing_is_a_row() -> None:
    with hook_of("prolog", {"SLURM_JOB_ID": "8"}) as hook:
        answer = Door(CONFIG).prolog(hook, {}, Desk(), 100.0).answer
    assert answer is not None and answer.exit == 0 and answer.message
    assert row("environment").finding(answer.message).sentence == answer.message


@contextmanager
def hook_of(phase: Literal["prolog", "epilog"], env: dict[str, str]) -> Iterator[Hook]:
    """A bridge job's hook that has arrived."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = HookRequest(v=1, phase=phase, bridge=True, env=env)
        yield Hook(Channel(ours), request, int(env["SLURM_JOB_ID"]))


def test_a_long_outage_is_a_row() -> None:
    run = replace(batch(1).began().learned().run, began=1000.0)
    found = outage(CONFIG.timing, Contact(1000.0, "no route to host; look at it", down_since=1.0), run, 2000.0)
    assert found is not None and found.fault.name == "api-outage"


def test_without_a_token_slurmctld_is_asked_again() -> None:
    works = SlurmWork(CONFIG, FakeSlurmRest(), lambda _key: None).works()
    with pytest.raises(Observed) as raised:
        works[do.LearnJob](Task(batch(1).began().run, do.LearnJob(7, 0), lambda _event: None))
    assert raised.value.fault == "slurm-no-token"


def test_a_job_of_somebody_else_is_never_written_to() -> None:
    """slurmrest.url may be that of another cluster, where this number is another user's."""
    rest, who = FakeSlurmRest(), Credential("ml", "t")
    rest.jobs[7] = record(1, user_id=1)
    works, run = SlurmWork(CONFIG, rest, lambda _key: who).works(), batch(1).began().run
    told = works[do.LearnJob](Task(run, do.LearnJob(7, 0), lambda _event: None))
    assert isinstance(told, events.NotReporting) and told.fault == "slurm-foreign-job"
    reported = works[do.Report](Task(run, do.Report("x", 0), lambda _event: None))
    assert isinstance(reported, events.Reported) and "another user's job" in reported.given_up
    cancelled = works[do.CancelJob](Task(run, do.CancelJob(0), lambda _event: None))
    assert isinstance(cancelled, events.Cancelled) and "another user's job" in cancelled.given_up
    assert rest.jobs[7] == record(1, user_id=1)


def test_what_the_hook_says_for_itself_is_the_rows_words() -> None:
    """The hook imports nothing of the table."""
    assert row(DAEMON_SILENT.name).cause.split("(")[0] in DAEMON_SILENT.cause
    assert row(DAEMON_SILENT.name).cure.startswith(DAEMON_SILENT.cure)


def test_a_hook_of_another_version_is_a_row() -> None:
    told = mismatch(99, "hook")
    assert told is not None
    assert row("hook-mismatch").finding(told).sentence == told
