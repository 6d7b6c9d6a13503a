"""The rows of the fault table that no object shows: the engine itself meets each of them in a story of its own."""

import base64
import copy
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import pytest

from bridge import clock, wellknown
from bridge.engine import activities as do
from bridge.engine import events, prolog
from bridge.engine.breaker import outage
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.desk import Desk, Hook
from bridge.engine.door import Door
from bridge.engine.executor import Task, Work
from bridge.engine.health import Contact
from bridge.engine.logs import LogHub
from bridge.engine.node_work import NodeWork
from bridge.engine.release import epilog_answer, hindrance
from bridge.engine.release_work import ReleaseWork
from bridge.engine.slurm_work import SlurmWork
from bridge.engine.state import SpecFile
from bridge.errors import Forbidden, Observed
from bridge.job.faults import Moment, Verdict, row
from bridge.messages.hook import DAEMON_SILENT
from bridge.slurmrest.api import Credential
from bridge.wire.frames import Channel
from bridge.wire.messages import HookRequest, mismatch
from tests.fakes.kubelet import FakeKubelet
from tests.fakes.kubernetes import FakeKubernetes
from tests.fakes.slurmrest import FakeSlurmRest

from .story import CONFIG, Story, allocation, batch, pod, ready, record
from .world import NAMESPACE

NODE = {"metadata": {"name": "compute1"}, "status": {"nodeInfo": {"bootID": "boot"}, "allocatable": {}}}


def learned(story: Story, **changes: object) -> Story:
    """slurmctld has told about the job, and the node is proven."""
    story.tell(events.JobLearned(story.at, record(len(story.here.nodes), **changes)))
    return story.tell(events.NodeProven(story.at, 2))


def waiting() -> Story:
    """A run on one node whose pod has not started."""
    return batch(1).created().sees(pod(0))


def spec(text: bytes) -> SpecFile:
    """A spec file with these bytes."""
    return SpecFile("/home/ml/job.yaml", base64.b64encode(text).decode())


JUDGED: dict[str, Callable[[], Story]] = {
    "spec-refused": lambda: learned(batch().began(spec(b"kind: Pod"))),
    "spec-unreadable": lambda: learned(batch().began(SpecFile("j", error="cannot read j: no such file; put it there"))),
    "spec-word": lambda: learned(Story(replace(allocation(), comment="k8s=")).began()),
    "het-job": lambda: learned(Story(replace(allocation(), het_job_id=7)).began()),
    "salloc": lambda: learned(batch().began(), batch=False),
    "allocation-unfit": lambda: learned(batch().began(), gpus=(1, 1)),
    "job-over": lambda: waiting().tell(events.JobLearned(100.0, record(1, states=frozenset({"CANCELLED"})))),
    "job-unknown": lambda: waiting().tell(events.JobUnknown(100.0)),
    "hook-left": lambda: waiting().tell(events.HookLeft(100.0)),
    "workload-deleted": lambda: waiting().tell(events.WorkloadGone(100.0)),
    "deadline": lambda: learned(batch(1).began()).after(301),
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
    judgement = learned(batch().began()).judgement()
    assert judgement is not None and judgement.fault == "spec-broken"


def test_a_refusal_keeps_the_row_and_the_verdict_that_it_was_journalled_with() -> None:
    story = learned(batch(1).began())
    story.tell(events.Refused(story.at, "a row of tomorrow", "of-the-future", Verdict.JOB))
    judgement = story.judgement()
    assert judgement is not None and (judgement.fault, judgement.verdict) == ("of-the-future", Verdict.JOB)
    assert story.replayed() == story.run


def test_a_refusal_of_an_older_journal_is_the_jobs_fault() -> None:
    told = events.from_json(b'{"at": 1.0, "sentence": "exceeded quota", "kind": "refused"}')
    assert isinstance(told, events.Refused) and (told.verdict, told.fault) == (Verdict.JOB, "")


def test_the_trouble_of_a_try_is_told_at_the_deadline_with_its_row() -> None:
    story = learned(batch(1).began())
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
    run = replace(learned(batch(1).began()).run, began=1000.0)
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


# -- what an activity says to be tried again


def works(kube: FakeKubernetes) -> dict[type[do.Activity], Work]:
    """What a node does whose kernel has the bootID "boot"."""
    node = NodeWork(CONFIG, kube, FakeKubelet(), str, "boot")
    works = ClusterWork(CONFIG, kube, LogHub(kube), tuple).works() | node.works()
    return works | ReleaseWork(CONFIG, kube, "compute1", list).works()


def work(kube: FakeKubernetes, activity: do.Activity, story: Story) -> events.Event | None:
    """One try of an activity."""
    return works(kube)[type(activity)](Task(story.run, activity, lambda _event: None))


def met(kube: FakeKubernetes, activity: do.Activity, story: Story) -> str:
    """Name of the row for which this activity asks for another try."""
    with pytest.raises(Observed) as raised:
        work(kube, activity, story)
    return raised.value.fault


def refuted(kube: FakeKubernetes, story: Story) -> str:
    """The row of a node that is not the one it thinks, when that has lasted as long as it must."""
    activity, patience = do.ProveNode("compute1", 0), 2 * CONFIG.timing.node_patience
    with pytest.raises(Observed):
        works(kube)[do.ProveNode](Task(replace(story.run, began=clock.now() - patience + 5), activity, _posted))
    event = works(kube)[do.ProveNode](Task(replace(story.run, began=clock.now() - patience), activity, _posted))
    assert isinstance(event, events.NodeAccused)
    return event.fault


def _posted(_event: events.Event) -> None:
    """Nobody listens."""


def test_a_node_that_is_not_there_or_another_is_a_row() -> None:
    kube, story = FakeKubernetes(), batch(1).began()
    story._run = replace(story.run, began=10.0**9)
    assert met(kube, do.ProveNode("compute1", 0), story) == "node-unknown"
    assert refuted(kube, story) == "node-unknown"
    other = copy.deepcopy(NODE)
    other["status"]["nodeInfo"] = {"bootID": "another"}  # type: ignore[index]
    kube.put("node", other)
    assert met(kube, do.ProveNode("compute1", 0), story) == "node-foreign"
    assert refuted(kube, story) == "node-foreign"


def test_gpus_that_kubernetes_does_not_show_are_a_row() -> None:
    kube = FakeKubernetes()
    kube.put("node", NODE)
    assert met(kube, do.ProveNode("compute1", 0), batch(1).began()) == "gpus-missing"


def test_a_name_that_is_taken_is_a_row() -> None:
    kube, story = FakeKubernetes(), learned(batch(1).began())
    manifest = json.loads(story.run.manifest)
    older = copy.deepcopy(manifest)
    older["metadata"]["annotations"] = {}
    older["metadata"]["namespace"] = NAMESPACE
    kube.put("workload", older)
    create = do.CreateWorkload(story.run.manifest, 0)
    assert met(kube, create, story) == "predecessor"
    foreign = copy.deepcopy(older)
    foreign["metadata"]["labels"] = {}
    kube.put("workload", foreign)
    assert met(kube, create, story) == "name-taken"


@pytest.mark.parametrize("differs", [wellknown.ANNOTATION_START, wellknown.ANNOTATION_SPEC_HASH])
def test_a_workload_of_another_start_or_spec_is_no_lost_answer(differs: str) -> None:
    kube, story = FakeKubernetes(), learned(batch(1).began())
    older = json.loads(story.run.manifest)
    older["metadata"]["namespace"] = NAMESPACE
    older["metadata"]["annotations"][differs] = "1"
    kube.put("workload", older)
    assert met(kube, do.CreateWorkload(story.run.manifest, 0), story) == "predecessor"


def test_an_operator_that_makes_no_pods_is_a_row() -> None:
    kube, story = FakeKubernetes(), batch(1).created()
    assert met(kube, do.ReadRefusals("job-uid", 0), story) == "operator-silent"


def test_a_webhook_that_does_not_answer_is_tried_again_and_one_that_denies_is_not() -> None:
    kube, story = FakeKubernetes(), batch(1).created()
    said = {"reason": "FailedCreatePod", "involvedObject": {"uid": "job-uid"}}
    down = "Error creating: Internal error occurred: failed calling webhook"
    kube.put(
        "event", {"metadata": {"name": "1", "namespace": NAMESPACE}, "lastTimestamp": "1", "message": down, **said}
    )
    assert met(kube, do.ReadRefusals("job-uid", 0), story) == "webhook-down"
    denied = 'Error creating: admission webhook "w" denied the request: no'
    kube.put(
        "event", {"metadata": {"name": "2", "namespace": NAMESPACE}, "lastTimestamp": "2", "message": denied, **said}
    )
    event = work(kube, do.ReadRefusals("job-uid", 0), story)
    assert isinstance(event, events.Refused) and (event.fault, event.verdict) == ("webhook-denied", Verdict.JOB)


# -- a namespace that was a slip of the pen


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("namespace", ["elsewhere", CONFIG.kubernetes.namespace])
def test_a_closed_namespace_holds_a_node_that_let_a_pod_through_or_that_the_site_still_names(
    namespace: str, seen: bool
) -> None:
    kube = FakeKubernetes()
    kube.break_down(Forbidden("not here"))
    story = batch(1).began()
    known = frozenset({"pod-0"} if seen else ())
    rules = replace(story.run.rules, namespace=namespace)
    story._run = replace(story.run, rules=rules, known_uids=known)
    proving = do.ProveGone(story.run.name, f"{story.run.name}-worker-0", "compute1", 0)
    deleting = do.DeleteWorkload(story.run.name, "", 0)
    if namespace == "elsewhere" and not seen:
        assert isinstance(work(kube, proving, story), events.PodsClear)
        assert isinstance(work(kube, deleting, story), events.WorkloadGone)
        return
    for activity in (proving, deleting):
        with pytest.raises(Forbidden):
            work(kube, activity, story)
