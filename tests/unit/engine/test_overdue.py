"""A run is over although no epilog has told, and a marker although no run is known: the reconciler ends them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge import wellknown
from bridge.engine.state import Judgement, Phase
from bridge.errors import Forbidden, Unavailable
from bridge.job.faults.runs import HOOK_LEFT
from bridge.job.ids import RunKey, pod_name, run_labels
from bridge.slurmrest.api import JobRecord
from bridge.store.markers import Marker

from .reconciling import NODE, Stage, unknown
from .story import CONFIG, START, record
from .world import NAMESPACE

OVER = 1.0 + 3600 + CONFIG.timing.prolog_deadline  # when no prolog of the usual run can wait any more
KEY = RunKey("demo", 7, 0)


def lists_no_pods(stage: Stage) -> None:
    stage.kube.faults.fail("list_pods", Forbidden("no pods for you"))


def a_pod(stage: Stage) -> None:
    labels = run_labels("demo", KEY)
    name = pod_name(labels[wellknown.LABEL_RUN], 1)
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": {}}
    stage.kube.put("pod", {"metadata": meta, "spec": {"nodeName": NODE}})


def answered(stage: Stage) -> None:
    """A run whose prolog has ended."""
    stage.run(Phase.RUNNING)


def left_by_its_hook(stage: Stage) -> None:
    """A run whose prolog nobody answers, since its hook was killed, too."""
    stage.run(Phase.PROLOG)
    stage.runs = {KEY: replace(stage.runs[KEY], judgement=Judgement.of(HOOK_LEFT.finding()))}


@pytest.mark.parametrize("known", [answered, left_by_its_hook])
def test_a_run_whose_epilog_was_killed_ends_once_nothing_is_left_of_it(
    stage: Stage, known: Callable[[Stage], None]
) -> None:
    known(stage)
    stage.at = OVER
    stage.turn()
    assert stage.ended == []
    stage.at += 1
    stage.turn()
    assert stage.ended == [KEY]


@pytest.mark.parametrize("left", [lambda stage: stage.workload(nodes=""), a_pod, lists_no_pods])
def test_where_slurmctld_may_not_be_asked_a_run_of_which_something_may_be_left_goes_on(
    stage: Stage, left: Callable[[Stage], object]
) -> None:
    stage.run(Phase.RUNNING)
    left(stage)
    stage.at = OVER + 1
    stage.turn()
    assert stage.ended == []


@pytest.mark.parametrize("phase", [Phase.PROLOG, Phase.RELEASE, Phase.RELEASED])
def test_only_a_run_that_waits_for_its_epilog_is_ended_without_one(stage: Stage, phase: Phase) -> None:
    stage.run(phase)
    stage.at = OVER + 1
    stage.turn()
    assert stage.ended == []


def test_a_look_alone_ends_nothing(stage: Stage) -> None:
    stage.run(Phase.RUNNING)
    stage.at = OVER + 1
    stage.look()
    assert stage.ended == []


@pytest.mark.parametrize(
    ("says", "is_over"),
    [
        (lambda _: record(), False),  # its time limit was lengthened
        (lambda _: record(states=frozenset({"COMPLETED"})), True),
        (lambda _: record(restart_count=1), True),
        (unknown, True),
    ],
)
def test_slurmctlds_word_decides_whatever_is_left(
    stage: Stage, says: Callable[[int], JobRecord], is_over: bool
) -> None:
    stage.may_ask().says = says
    stage.run(Phase.RUNNING)
    stage.workload()
    stage.at = OVER + 1
    stage.turn()
    assert stage.ended == ([KEY] if is_over else [])


def silent(_: int) -> JobRecord:
    """slurmctld does not answer."""
    raise Unavailable("no answer")


@pytest.mark.parametrize("left", [True, False])
def test_where_slurmctld_does_not_answer_only_a_run_of_which_nothing_is_left_is_ended(stage: Stage, left: bool) -> None:
    stage.may_ask().says = silent
    stage.run(Phase.RUNNING)
    if left:
        stage.workload()
    stage.at = OVER + 1
    stage.turn()
    assert stage.ended == ([] if left else [KEY])


@pytest.mark.parametrize(("state", "is_over"), [("RUNNING", False), ("TIMEOUT", True)])
def test_the_owners_token_asks_where_the_site_has_given_none(stage: Stage, state: str, is_over: bool) -> None:
    stage.says = lambda _: record(states=frozenset({state}))
    stage.may_ask_as_owner_of(KEY)
    stage.run(Phase.RUNNING)
    stage.workload()
    stage.at = OVER + 1
    stage.turn()
    assert stage.asked == [7]
    assert stage.ended == ([KEY] if is_over else [])


def test_slurmctld_is_not_asked_about_runs_whose_time_is_not_over(stage: Stage) -> None:
    stage.may_ask()
    stage.run(Phase.RUNNING)
    stage.at = OVER
    stage.turn()
    assert stage.asked == []


MARKER = Marker(0, START, 2001, gpus=False, end=START + 60)
LATE = START + 61.0 + CONFIG.timing.prolog_deadline


def test_a_marker_alone_ends_its_run_once_nothing_is_left_of_that(stage: Stage) -> None:
    stage.markers[7] = MARKER
    stage.calendar = LATE - 1
    stage.turn()
    assert stage.ended == []
    stage.calendar = LATE
    stage.turn()
    assert stage.ended == [KEY]


def test_that_an_earlier_run_was_proven_gone_does_not_hide_a_marker(stage: Stage) -> None:
    stage.run(Phase.RELEASED)
    stage.markers[7] = replace(MARKER, restart=1)
    stage.calendar = LATE
    stage.turn()
    assert stage.ended == [replace(KEY, restart=1)]


@pytest.mark.parametrize(("deadlines", "is_over"), [(0, False), (0.99, False), (1, True), (-2, True)])
def test_a_calendar_that_is_ahead_ends_no_run_whose_prolog_may_not_have_asked_yet(
    stage: Stage, deadlines: float, is_over: bool
) -> None:
    """Once its deadline is behind it, it cannot; nor where it was one of another boot, of a later hour of that."""
    stage.markers[7] = replace(MARKER, began=stage.at)
    stage.at += deadlines * CONFIG.timing.prolog_deadline
    stage.calendar = LATE
    stage.turn()
    assert stage.ended == ([KEY] if is_over else [])


@pytest.mark.parametrize(
    "slip",
    [
        lambda stage: stage.workload(nodes="compute2"),
        a_pod,
        lists_no_pods,
        lambda stage: stage.run(Phase.RELEASED),
        lambda stage: (stage.run(Phase.RUNNING), stage.markers.update({7: replace(MARKER, restart=1)})),
        lambda stage: stage.markers.update({7: None}),
        lambda stage: stage.markers.update({7: replace(MARKER, end=0)}),
    ],
)
def test_a_marker_ends_nothing_that_may_be_there(stage: Stage, slip: Callable[[Stage], object]) -> None:
    stage.markers[7] = MARKER
    slip(stage)
    stage.calendar = LATE
    stage.turn()
    assert stage.ended == []


@pytest.mark.parametrize(
    ("told", "is_over"),
    [
        (record(), False),
        (record(states=frozenset({"CANCELLED"})), True),
        (record(nodes=1, start_time=START + 5), False),  # slurmctld sets a start anew where it powers nodes up
        (replace(record(start_time=START + 5), nodes="compute3"), True),
    ],
)
def test_slurmctlds_word_decides_of_a_marker_too(stage: Stage, told: JobRecord, is_over: bool) -> None:
    stage.may_ask().says = lambda _: told
    stage.markers[7] = MARKER
    stage.calendar = LATE
    stage.turn()
    assert stage.ended == ([KEY] if is_over else [])
