"""What is left of runs goes, after its grace and a second look; what lives or may live stays."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from bridge import wellknown
from bridge.engine import reconciler
from bridge.engine.orphans import State
from bridge.engine.state import Phase
from bridge.errors import Forbidden, Unavailable
from bridge.job.ids import RunKey, pod_name, run_labels
from bridge.kube.api import Object
from bridge.slurmrest.api import JobRecord

from .reconciling import NODE, Stage, unknown
from .story import CONFIG, START, record
from .world import NAMESPACE

GRACE = CONFIG.timing.orphan_grace


def test_an_orphan_goes_after_its_grace_and_no_sooner(stage: Stage) -> None:
    name = stage.workload()
    stage.run(Phase.RELEASED)
    assert stage.turn().due == {stage.kube.get("workload", NAMESPACE, name)["metadata"]["uid"]: stage.at + GRACE}
    stage.at += GRACE - 1
    assert stage.turn().deleted == ()
    assert stage.left == [name]
    stage.at += 1
    (deleted,) = stage.turn().deleted
    assert (deleted.name, deleted.why) == (name, "this node's journal says that its run was released")
    assert stage.left == []
    assert stage.states() == {}
    assert stage.turn().findings[0].state is State.DELETING


def test_a_live_run_is_never_touched(stage: Stage) -> None:
    stage.may_ask().says = unknown
    for job, phase in ((7, Phase.PROLOG), (8, Phase.RUNNING), (9, Phase.RELEASE)):
        stage.workload(job)
        stage.run(phase, job)
    stage.turns(hours=0.5)  # well within the time of their jobs
    stage.collect()
    assert len(stage.left) == 3
    assert stage.asked == [], "slurmctld is not asked about what this node knows"
    assert "delete_workload" not in stage.kube.faults.calls


def test_only_the_batch_node_looks_after_a_workload_and_only_of_its_tag(stage: Stage) -> None:
    stage.may_ask().says = unknown
    stage.workload(7, nodes="compute2,compute1")
    stage.workload(8, nodes="")
    stage.workload(9, tag="other")
    stage.turns()
    assert len(stage.left) == 3
    assert stage.states() == {}
    assert stage.asked == []


def test_grace_begins_anew_with_the_daemon_and_after_another_finding(stage: Stage) -> None:
    name = stage.workload()
    stage.run(Phase.RELEASED)
    stage.turn()
    stage.at += GRACE
    stage.restart()
    stage.turn()
    assert stage.left == [name]
    stage.run(Phase.RUNNING)
    stage.turn()
    stage.run(Phase.RELEASED)
    stage.at += GRACE
    stage.turn()
    assert stage.left == [name]
    stage.at += GRACE
    stage.turn()
    assert stage.left == []


@pytest.mark.parametrize("jump", [-(10.0**9), 10.0**9])
def test_the_time_of_day_decides_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    live, over = stage.workload(7), stage.workload(8)
    stage.run(Phase.RUNNING, 7)
    stage.run(Phase.RELEASED, 8)
    stage.turn()
    day = time.time()
    monkeypatch.setattr(time, "time", lambda: day + jump)
    stage.turn()
    assert stage.left == [live, over], "the grace is not over"
    stage.at += GRACE
    stage.turn()
    assert stage.left == [live]


# -- journals that are not what they were


def test_a_wiped_journal_deletes_nothing(stage: Stage) -> None:
    name = stage.workload()
    stage.turns()
    stage.collect()
    assert stage.left == [name]
    assert stage.states() == {name: State.UNCONFIRMED}


def test_a_wiped_journal_deletes_nothing_that_slurmctld_knows_as_live(stage: Stage) -> None:
    name = stage.may_ask().workload()
    stage.turns()
    stage.collect()
    assert stage.left == [name]
    assert stage.states() == {name: State.LIVE}


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("earlier", [1, 86400])
def test_a_restored_journal_deletes_nothing_live(stage: Stage, phase: Phase, earlier: int) -> None:
    """The job id has come back since the copy was made; of the run that lives the copy knows nothing."""
    name = stage.workload()
    stage.run(phase, start=START - earlier)
    stage.run(Phase.RELEASED, job=6)
    stage.turns()
    stage.collect()
    assert stage.left == [name]
    assert stage.states() == {name: State.UNCONFIRMED}


# -- slurmctld's word


def test_what_slurmctld_does_not_know_goes_after_it_has_said_so_twice(stage: Stage) -> None:
    name = stage.may_ask().workload()
    stage.says = unknown
    stage.turn()
    assert (stage.left, stage.asked) == ([name], [7])
    stage.at += GRACE
    (deleted,) = stage.turn().deleted
    assert deleted.why == "slurmctld does not know its job any more"
    assert stage.asked == [7, 7, 7], "once a look, and once more before it is deleted"


@pytest.mark.parametrize(
    "second", [record(), Unavailable("slurmctld does not answer"), Forbidden("no operator any more")]
)
def test_slurmctld_has_to_say_so_twice(stage: Stage, second: JobRecord | Exception) -> None:
    name = stage.may_ask().workload()

    def says(job: int) -> JobRecord:
        if len(stage.asked) % 2:
            return unknown(job)
        if isinstance(second, Exception):
            raise second
        return second

    stage.says = says
    for _ in range(3):
        assert stage.collect().deleted == ()
    assert stage.left == [name]


def test_a_slurmctld_that_does_not_answer_is_asked_once_a_look(stage: Stage) -> None:
    def silent(_job: int) -> JobRecord:
        raise Unavailable("No answer from slurmrestd")

    stage.may_ask().says = silent
    names = [stage.workload(job) for job in (7, 8, 9)]
    report = stage.turn()
    assert stage.asked == [7]
    assert stage.states() == dict.fromkeys(names, State.UNCONFIRMED)
    assert "No answer from slurmrestd" in report.findings[2].why


# -- between the first look and the deletion


def meanwhile(stage: Stage, what: str) -> Callable[[], object]:
    """What may happen in the pause."""
    name = "slurm-demo-7-0"

    def edit(change: Callable[[Object], object]) -> Callable[[], object]:
        return lambda: stage.kube.edit("workload", NAMESPACE, name, change)

    def replaced() -> None:
        stage.kube.remove("workload", NAMESPACE, name)
        stage.workload()

    def deleted() -> None:
        uid = stage.kube.get("workload", NAMESPACE, name)["metadata"]["uid"]
        stage.kube.mark_deleted("workload", NAMESPACE, name, uid)

    notes = {wellknown.ANNOTATION_START: str(START + 1), wellknown.ANNOTATION_NODES: NODE}
    return {
        "it begins": lambda: stage.run(Phase.PROLOG),
        "it is another object": replaced,
        "it is another run's": edit(lambda item: item["metadata"].update(annotations=notes)),
        "it is deleted": deleted,
        "it is gone": lambda: stage.kube.remove("workload", NAMESPACE, name),
        "nobody answers": lambda: stage.kube.break_down(Unavailable("down")),
        "the journal forgets": lambda: setattr(stage, "runs", {}),
    }[what]


@pytest.mark.parametrize(
    ("what", "state"),
    [
        ("it begins", State.LIVE),
        ("it is another object", None),
        ("it is another run's", State.UNCONFIRMED),
        ("it is deleted", State.DELETING),
        ("it is gone", None),
        ("nobody answers", State.ORPHAN),
        ("the journal forgets", State.UNCONFIRMED),
    ],
)
def test_a_second_look_that_differs_deletes_nothing(stage: Stage, what: str, state: State | None) -> None:
    name = stage.workload()
    stage.run(Phase.RELEASED)
    stage.kube.meanwhile = meanwhile(stage, what)
    report = stage.collect()
    assert report.deleted == ()
    assert "delete_workload" not in stage.kube.faults.calls
    assert stage.states() == ({} if state is None else {name: state})
    told = [fault.partition(" [")[0] for fault in report.faults]
    assert told == ([f"{name} could not be deleted: down"] if what == "nobody answers" else [])


def test_a_run_that_begins_while_slurmctld_answers_is_live(stage: Stage) -> None:
    name = stage.may_ask().workload()

    def slow(job: int) -> JobRecord:
        if len(stage.asked) == 2:
            stage.run(Phase.PROLOG)
        return unknown(job)

    stage.says = slow
    assert stage.collect().deleted == ()
    assert (stage.left, stage.states()) == ([name], {name: State.LIVE})


def test_a_deletion_that_is_refused_is_told_and_tried_again(stage: Stage) -> None:
    name = stage.workload()
    stage.run(Phase.RELEASED)
    stage.kube.faults.fail("delete_workload", Forbidden("not from this node"))
    (fault,) = stage.collect().faults
    assert fault.startswith(f"{name} could not be deleted: not from this node [orphan-stays]; ")
    assert stage.states() == {name: State.ORPHAN}
    assert [item.name for item in stage.collect().deleted] == [name]


# -- trouble and bounds


def test_an_api_server_that_does_not_answer_proves_nothing(stage: Stage) -> None:
    name = stage.workload()
    stage.run(Phase.RELEASED)
    stage.turn()
    stage.at += GRACE
    stage.kube.break_down(Unavailable("down"))
    (fault,) = stage.turn().faults
    assert fault.startswith("the API server does not answer (down); ")
    stage.kube.recover()
    assert stage.left == [name]
    assert stage.turn().faults == ()
    assert stage.left == []


def test_a_bug_does_not_end_the_thread(stage: Stage) -> None:
    stage.kube.faults.fail("survey_workloads", RuntimeError("a bug"))
    (fault,) = stage.turn().faults
    assert fault == "a fault of the bridge itself in its reconciler, see its log; report it"
    assert stage.turn().faults == ()


def test_only_so_many_are_looked_at_and_the_others_later(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "_LIMIT", 2)
    for job in (7, 8, 9):
        stage.workload(job)
        stage.run(Phase.RELEASED, job)
    report = stage.look()
    assert (len(report.findings), report.more) == (2, 1)
    stage.collect()
    stage.kube.remove("workload", NAMESPACE, "slurm-demo-7-0")
    stage.kube.remove("workload", NAMESPACE, "slurm-demo-8-0")
    stage.collect()
    assert stage.left == []


def test_how_often_the_api_server_is_asked(stage: Stage) -> None:
    for job in range(7, 17):
        stage.workload(job)
    stage.turn()
    assert sorted(stage.kube.faults.calls) == ["list_pods", "survey_workloads"]


# -- pods of released runs


def pod(stage: Stage, node: str = NODE, start: int = START, job: int = 7) -> None:
    labels: dict[str, Any] = run_labels("demo", RunKey("demo", job, 0))
    name = pod_name(labels[wellknown.LABEL_RUN], 0)
    notes = {wellknown.ANNOTATION_START: str(start)}
    metadata = {"name": name, "uid": f"uid-{job}", "namespace": NAMESPACE, "labels": labels, "annotations": notes}
    stage.kube.put("pod", {"metadata": metadata, "spec": {"nodeName": node}})


def test_a_pod_of_a_released_run_is_told_and_left_alone(stage: Stage) -> None:
    stage.run(Phase.RELEASED)
    pod(stage)
    (stray,) = stage.turn().strays
    assert (stray.pod, stray.uid, stray.run) == ("slurm-demo-7-0-worker-0", "uid-7", "slurm-demo-7-0")
    stage.turns()
    assert len(stage.kube.all("pod")) == 1


@pytest.mark.parametrize("changes", [{"node": "compute2"}, {"start": START + 1}, {"job": 8}])
def test_other_pods_are_none_of_its_business(stage: Stage, changes: dict[str, Any]) -> None:
    stage.run(Phase.RELEASED)
    pod(stage, **changes)
    assert stage.turn().strays == ()


def test_pods_of_runs_that_are_not_over_are_as_they_should_be(stage: Stage) -> None:
    stage.run(Phase.RELEASE)
    pod(stage)
    assert stage.turn().strays == ()


def test_workloads_are_looked_after_even_when_pods_cannot_be_listed(stage: Stage) -> None:
    stage.workload()
    stage.run(Phase.RELEASED)
    stage.kube.faults.fail("list_pods", Forbidden("no pods for you"))
    report = stage.collect()
    (fault,) = report.faults
    assert fault.startswith(
        "the pods of this node in the namespace slurm-jobs are not known: no pods for you [pods-unknown]; "
    )
    assert len(report.deleted) == 1
