"""What proves that a workload's run is over, and what does not."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from bridge import wellknown
from bridge.engine.orphans import JobWord, Seen, State, by_word, cure, here, seen
from bridge.engine.state import Phase, Run, forgotten_run, new_run
from bridge.job.ids import RunKey, workload_name

from .story import CONFIG, START, allocation, record

KEY = RunKey("demo", 7, 0)
WORKLOAD = Seen("slurm-demo-7-0", "uid", KEY, START, ("compute1", "compute2"), False, "slurm-jobs")


def run(phase: Phase, restart: int = 0, start: int = START, job: int = 7) -> Run:
    """A run as the journal has it."""
    given = replace(allocation(), job_id=job, restart=restart, start_time=start)
    return replace(new_run(CONFIG, given, 1.0), phase=phase)


def bare(phase: Phase, job: int = 7) -> Run:
    """A run of which only a bare epilog told."""
    return replace(forgotten_run(CONFIG, 1.0, None, RunKey("demo", job, 0), None), phase=phase)


def found(*runs: Run, workload: Seen = WORKLOAD) -> State | None:
    finding = here(workload, {run.key: run for run in runs})
    return None if finding is None else finding.state


def metadata(name: str = "slurm-demo-7-0", **changes: Any) -> dict[str, Any]:
    """A workload's metadata as the bridge renders it."""
    labels = {
        wellknown.LABEL_MANAGED: "true",
        wellknown.LABEL_TAG: "demo",
        wellknown.LABEL_JOB: "7",
        wellknown.LABEL_RUN: "slurm-demo-7-0",
    }
    annotations = {wellknown.ANNOTATION_START: str(START), wellknown.ANNOTATION_NODES: "compute1,compute2"}
    return {"metadata": {"name": name, "uid": "uid", "labels": labels, "annotations": annotations} | changes}


def test_a_workload_as_the_bridge_makes_it() -> None:
    assert seen(CONFIG, metadata()) == WORKLOAD
    assert seen(CONFIG, metadata(deletionTimestamp="2026-01-01T00:00:00Z")).deleting


@pytest.mark.parametrize(
    "name",
    [
        "",
        "slurm-demo-7",
        "slurm-demo-7-0-1",
        "slurm-demo-07-0",
        "slurm-other-7-0",
        "slurm-demo-7-x",
        "slurm-demo-8-0",
        "xslurm-demo-7-0",
        "slurm-demo-7-0\n",
        "slurm-demo-٧-0",
        "slurm-demo-99999999999-0",
        "slurm-demo--7-0",
    ],
)
def test_a_name_that_the_bridge_does_not_give(name: str) -> None:
    assert seen(CONFIG, metadata(name)).key is None


@pytest.mark.parametrize("label", [wellknown.LABEL_TAG, wellknown.LABEL_JOB, wellknown.LABEL_RUN])
def test_a_label_that_does_not_fit_the_name(label: str) -> None:
    labels = metadata()["metadata"]["labels"]
    assert seen(CONFIG, metadata(labels=labels | {label: "other"})).key is None
    assert seen(CONFIG, metadata(labels={key: value for key, value in labels.items() if key != label})).key is None


@pytest.mark.parametrize("start", ["", "soon", "-1", "1e9", "9" * 13, "١"])
def test_a_start_that_is_none(start: str) -> None:
    assert seen(CONFIG, metadata(annotations={wellknown.ANNOTATION_START: start})).start == 0


@pytest.mark.parametrize("workload", [{}, {"metadata": None}, {"metadata": {"labels": None, "annotations": None}}])
def test_an_object_without_anything(workload: dict[str, Any]) -> None:
    assert seen(CONFIG, workload) == Seen("", "", None, 0, (), False, "slurm-jobs")


# -- what this node knows by itself


@pytest.mark.parametrize("phase", [Phase.PROLOG, Phase.RUNNING, Phase.RELEASE])
def test_what_is_not_released_is_live(phase: Phase) -> None:
    assert found(run(phase)) is State.LIVE
    assert found(run(phase), workload=replace(WORKLOAD, deleting=True)) is State.LIVE


def test_a_released_run_leaves_an_orphan() -> None:
    assert found(run(Phase.RELEASED)) is State.ORPHAN
    assert found(run(Phase.RELEASED), workload=replace(WORKLOAD, deleting=True)) is State.DELETING


def test_a_journal_that_knows_nothing_proves_nothing() -> None:
    assert found() is None
    assert found(run(Phase.RELEASED, job=8), run(Phase.RUNNING, job=70)) is None


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize(
    ("restart", "start", "proves"),
    [
        (1, START + 60, True),
        (1, START, True),  # requeued within one second
        (0, START + 60, True),  # the job id came back
        (1, START - 60, False),  # slurmctld's clock was set back, or the journal is of another life of this job id
        (0, START - 60, False),
        (0, 0, False),  # of Slurm before 23.02
        (1, 0, False),
    ],
)
def test_a_later_run_is_later_by_both_numbers(phase: Phase, restart: int, start: int, proves: bool) -> None:
    state = found(run(phase, restart, start))
    if (restart, start) == (0, 0) and phase is not Phase.RELEASED:
        assert state is State.LIVE, "it may be the very run"
        return
    assert state is (State.ORPHAN if proves else None)


@pytest.mark.parametrize("restart", [1, 2])
@pytest.mark.parametrize("start", [START - 60, START, START + 60])
def test_an_earlier_run_proves_nothing(restart: int, start: int) -> None:
    """As in a journal that was restored from an old copy."""
    workload = replace(WORKLOAD, name=f"slurm-demo-7-{restart}", key=RunKey("demo", 7, restart), start=START + 3600)
    assert found(run(Phase.RELEASED, 0, start), workload=workload) is None


@pytest.mark.parametrize("phase", list(Phase))
def test_without_its_start_nothing_is_proven(phase: Phase) -> None:
    workload = replace(WORKLOAD, start=0)
    live = phase is not Phase.RELEASED
    assert found(run(phase), workload=workload) is (State.LIVE if live else None)
    assert found(run(phase, restart=1), workload=workload) is None
    assert found(run(phase, start=0), workload=workload) is (State.LIVE if live else None)


def test_while_a_bare_epilog_is_at_work_its_jobs_workloads_are_left_to_it() -> None:
    assert found(bare(Phase.RELEASE)) is State.LIVE
    assert found(bare(Phase.RELEASE, job=8)) is None
    assert found(bare(Phase.RELEASED)) is None, "which run it ended is not known"


def test_a_live_run_goes_before_every_proof() -> None:
    assert found(run(Phase.RUNNING), run(Phase.RELEASED, 1, START + 60)) is State.LIVE


def test_no_journal_of_other_times_kills_a_live_workload() -> None:
    """Every journal of two runs of this job which are not both later: nothing is an orphan but by its own release."""
    phases, restarts, starts = list(Phase), (0, 1), (START - 60, START - 1)
    for phase, restart, start in product(phases, restarts, starts):
        assert found(run(phase, restart, start)) is None


def test_what_the_bridge_did_not_make_is_left_to_a_person() -> None:
    workload = replace(WORKLOAD, key=None)
    assert found(run(Phase.RELEASED), workload=workload) is State.UNCONFIRMED
    assert found(workload=replace(workload, deleting=True)) is State.DELETING
    assert "ask who made it" in cure(workload)


# -- what slurmctld says


def told(**changes: object) -> JobWord:
    return JobWord(record=replace(record(), **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "state", "why"),
    [
        (None, State.UNCONFIRMED, "cannot be asked about it without a service token (slurmrest.tier)"),
        (JobWord(), State.UNCONFIRMED, "could not be asked"),
        (JobWord(fault="No answer from slurmrestd"), State.UNCONFIRMED, "No answer from slurmrestd"),
        (JobWord(unknown=True), State.ORPHAN, "slurmctld does not know its job any more"),
        (told(), State.LIVE, "slurmctld says that its run is not over"),
        (told(states=frozenset({"COMPLETED"})), State.ORPHAN, "its job is over (completed)"),
        (told(states=frozenset({"RUNNING", "COMPLETING"})), State.ORPHAN, "its job is over"),
        (told(states=frozenset({"PENDING"}), start_time=0, nodes=""), State.ORPHAN, "its job is over (requeued)"),
        (told(states=frozenset({"SUSPENDED"})), State.LIVE, "not over"),
        (told(states=frozenset({"A NEW WORD"})), State.LIVE, "not over"),
        (told(states=frozenset()), State.LIVE, "not over"),
        (told(restart_count=1), State.ORPHAN, "started anew since (Restarts=1)"),
        (told(start_time=START + 60), State.UNCONFIRMED, "shows its job with another start"),
        (told(start_time=START + 60, nodes="compute[2-3]"), State.ORPHAN, "belongs to a job on other nodes now"),
        (told(start_time=START + 60, nodes=""), State.UNCONFIRMED, "shows its job with another start"),
        (told(start_time=START + 60, nodes="compute[2-"), State.UNCONFIRMED, "shows its job with another start"),
        (told(nodes="compute[2-3]"), State.LIVE, "not over"),
    ],
)
def test_slurmctlds_word(word: JobWord | None, state: State, why: str) -> None:
    finding = by_word(CONFIG, WORKLOAD, word)
    assert (finding.state, finding.seen) == (state, WORKLOAD)
    assert why in finding.why


def test_slurmctlds_word_on_a_workload_without_a_start() -> None:
    workload = replace(WORKLOAD, start=0)
    assert by_word(CONFIG, workload, told(nodes="compute[2-3]")).state is State.LIVE
    assert by_word(CONFIG, workload, told(restart_count=1)).state is State.ORPHAN


def test_the_cure_is_what_a_person_types() -> None:
    words = cure(WORKLOAD)
    assert words.startswith("unless `scontrol show job 7` shows a job with Restarts=0 StartTime=20")
    assert words.endswith("kubectl -n slurm-jobs delete pytorchjob slurm-demo-7-0 --cascade=foreground")
    assert "StartTime" not in cure(replace(WORKLOAD, start=0))
    assert workload_name("demo", KEY) == WORKLOAD.name
