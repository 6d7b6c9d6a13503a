"""What chaos checks: a good history breaks no law, and each slip in it breaks the one that it should."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.history import Conflict, Drain, Ended, History, Hook, OwnFault, Pod, Workload
from tests.chaos.laws import own_text, violations
from tests.chaos.plan import Kind, Lifecycle

JOB, NODE, OTHER = 7, "compute1", "compute2"
WHOLE = "[rank 0] second 0\n[rank 0] over\n"
LIFE = Lifecycle(3, Kind.SUCCESS, 1, 0.0, attaches=True, looks=False, bad_spec="")


def good() -> History:
    """One job on one node, whose process ended before its object was gone, and both before its epilog."""
    return History(
        hooks=[Hook(NODE, JOB, "prolog", 100, 103, 0), Hook(NODE, JOB, "epilog", 110, 115, 0)],
        workloads={"w": Workload("w", "slurm-demo-7-0", JOB, 100.5, 113)},
        pods={"p": Pod("p", "slurm-demo-7-0-worker-0", JOB, NODE, 101, 102, 112, 113)},
        ended={JOB: Ended(LIFE, "COMPLETED", "0:0", f"{own_text(LIFE)} | k8s: finished", True)},
    )


def pod(**changes: Any) -> Callable[[History], None]:
    def slip(history: History) -> None:
        history.pods["p"] = replace(history.pods["p"], **changes)

    return slip


def ended(**changes: Any) -> Callable[[History], None]:
    def slip(history: History) -> None:
        history.ended[JOB] = replace(history.ended[JOB], **changes)

    return slip


def workload(made: float, gone: float | None, job: int = JOB) -> Callable[[History], None]:
    def slip(history: History) -> None:
        history.workloads["other"] = Workload("other", "slurm-demo-7-1", job, made, gone)

    return slip


def deleted(at: float) -> Callable[[History], None]:
    """Its workload waits for the garbage collector from then on."""

    def slip(history: History) -> None:
        history.workloads["w"].deleted = at

    return slip


def untold(kind: Kind, later: float, *troubles: tuple[float, float]) -> Callable[[History], None]:
    """Its epilog began seven seconds after its prolog, and so much later."""

    def slip(history: History) -> None:
        ended(lifecycle=replace(LIFE, kind=kind), comment=own_text(LIFE), state="CANCELLED")(history)
        hook(1, began=110 + later, ended=115 + max(0, later))(history)
        history.troubles[NODE] = list(troubles)

    return slip


def hook(number: int, **changes: Any) -> Callable[[History], None]:
    def slip(history: History) -> None:
        history.hooks[number] = replace(history.hooks[number], **changes)

    return slip


def tokenless(at: float) -> Callable[[History], None]:
    """Its daemon may have lost its owner's token then."""

    def slip(history: History) -> None:
        history.tokenless[NODE] = [at]

    return slip


def all_slips(*slips: Callable[[History], None]) -> Callable[[History], None]:
    def slip(history: History) -> None:
        for each in slips:
            each(history)

    return slip


def test_a_good_history_breaks_no_law() -> None:
    assert violations(good()) == []


@pytest.mark.parametrize(
    ("law", "slip"),
    [
        ("one workload", workload(105, 113)),
        ("one workload", workload(101, None)),
        ("one workload", all_slips(workload(106, 112), deleted(110))),
        ("own nodes", pod(node=OTHER)),
        ("own nodes", pod(job=8)),
        ("own nodes", pod(bound=97)),
        ("own nodes", pod(bound=116)),
        ("own nodes", pod(ended=115.1)),
        ("own nodes", pod(ended=None)),
        ("own nodes", pod(gone=117)),
        ("own nodes", pod(gone=None)),
        ("own nodes", hook(0, began=104)),
        ("one holder", lambda history: history.conflicts.append(Conflict(NODE, 105, "p"))),
        ("no drain", lambda history: history.drains.append(Drain(NODE, 105, "drained: because"))),
        ("all told", untold(Kind.SUCCESS, 0)),
        ("all told", all_slips(untold(Kind.BAD_SPEC, -6, (100, 115)), ended(attached=103.5))),
        ("all told", untold(Kind.CANCEL, 0)),
        ("all told", untold(Kind.CANCEL, 60, (105, 115), (118, 119), (105.1, 105.5))),
        ("all told", untold(Kind.CANCEL, 10, (80, 87))),
        ("all told", untold(Kind.SUCCESS, 0, (105.5, 108))),
        ("all told", all_slips(untold(Kind.SUCCESS, 0), tokenless(80))),
        ("all told", all_slips(untold(Kind.SUCCESS, 1), tokenless(105), ended(attached=103.1))),
        ("all told", all_slips(untold(Kind.FAILURE, 1), ended(output="[no-token]", attached=103.1))),
        ("own words", ended(comment="k8s: finished")),
        ("own words", ended(comment=f"{own_text(LIFE)} more | k8s: finished")),
        ("right end", ended(lifecycle=replace(LIFE, kind=Kind.FAILURE))),
        ("right end", ended(lifecycle=replace(LIFE, kind=Kind.BAD_SPEC))),
        ("no line lost", ended(output="[rank 0] second 0\n[rank 0] second 2\n[rank 0] over\n")),
        ("no line lost", ended(output="[rank 0] second 0\n[rank 0] second 0\n[rank 0] over\n")),
        ("no line lost", ended(output="[rank 0] second 0\n")),
        ("no line lost", ended(output="[rank 0] over\n")),
        ("no line lost", ended(output="")),
        ("no line lost", ended(output="the last lines of rank 10, 1 did not come in time: API server")),
        ("nobody waits", hook(1, ended=261)),
        ("nobody waits", all_slips(hook(1, ended=261), lambda history: history.forgot.update({NODE: [105]}))),
        ("nobody waits", all_slips(hook(1, ended=261), lambda history: history.forgot.update({OTHER: [120]}))),
        ("nothing left", lambda history: history.left.append("marker")),
    ],
)
def test_each_slip_breaks_its_law(law: str, slip: Callable[[History], None]) -> None:
    history = good()
    slip(history)
    assert {found.law for found in violations(history)} == {law}


def test_a_foreign_job_is_told_nothing() -> None:
    history, foreign = good(), replace(LIFE, kind=Kind.FOREIGN)
    history.ended[JOB] = Ended(foreign, "COMPLETED", "0:0", own_text(foreign), True)
    assert violations(history) == []
    history.ended[JOB] = Ended(foreign, "COMPLETED", "0:0", f"{own_text(foreign)} | k8s: hello", True)
    assert [found.law for found in violations(history)] == ["all told"]


@pytest.mark.parametrize(
    ("state", "output", "law"),
    [
        ("FAILED", "slurm-k8s-bridge: job 7 is no bridge job [no-bridge-job]", []),
        ("CANCELLED", None, []),
        ("FAILED", None, ["all told"]),
        ("FAILED", "slurm-k8s-bridge: the run of job 7 is lost [run-lost]", ["all told"]),
        ("COMPLETED", "", ["right end"]),
    ],
)
def test_who_attaches_to_nothing_is_told_so(state: str, output: str | None, law: list[str]) -> None:
    history, life = good(), replace(LIFE, kind=Kind.NO_SPEC)
    history.ended[JOB] = Ended(life, state, "75:0", own_text(life), True, output)
    assert [found.law for found in violations(history)] == law


@pytest.mark.parametrize(
    "slip",
    [
        workload(114, 120),  # a requeued run's, once the first one's is gone
        workload(105, 110, job=8),
        all_slips(workload(111, 120), deleted(110.5)),
        hook(1, code=1, ended=111),  # it did not let the node go: whatever is there is its own
        hook(1, code=None, ended=None),
        ended(started=False, comment=own_text(LIFE)),
        pod(began=None, ended=None),
        ended(output="before\n[rank 0] second 0\n[rank 0] second 1\n[rank 0] over\nbehind\n"),
        ended(output="output of rank 0 may be missing here: it writes faster"),
        ended(output="the last lines of rank 10, 0 did not come in time: API server"),
        untold(Kind.CANCEL, -6),
        untold(Kind.SUCCESS, 0, (104, 109)),
        untold(Kind.QUICK_END, 0, (80, 108.5)),
        untold(Kind.CANCEL, 20, (104, 112), (108, 118)),
        all_slips(untold(Kind.SUCCESS, 0), tokenless(105)),
        all_slips(untold(Kind.SUCCESS, 0), tokenless(105), ended(attached=104.0)),
        all_slips(untold(Kind.SUCCESS, 0), tokenless(105), ended(attached=94.0)),  # by an earlier run
        all_slips(untold(Kind.BAD_SPEC, 0), tokenless(105)),
        all_slips(untold(Kind.FAILURE, 0), ended(output="failed: no Slurm token [no-token]", attached=104.0)),
        all_slips(untold(Kind.QUICK_END, 0), tokenless(90)),
        all_slips(hook(1, ended=261), lambda history: history.forgot.update({NODE: [120]})),
    ],
)
def test_what_is_no_slip(slip: Callable[[History], None]) -> None:
    history = good()
    slip(history)
    assert violations(history) == []


@pytest.mark.parametrize(
    ("fault", "code", "drained", "is_right"),
    [
        (OwnFault(101, 101), 1, 105, True),
        (OwnFault(101, 101), 1, -190, True),
        (OwnFault(101, 101), 1, -200, False),
        (OwnFault(103.5, 103.5), 137, 105, True),  # told a moment later
        (OwnFault(75, 99), 1, 105, True),
        (OwnFault(75, 98), 1, 105, False),
        (OwnFault(101, 101), 0, 105, False),
        (OwnFault(101, 101), 1, 140, False),
        (OwnFault(101, 101), 1, 100, True),  # before the hook had its answer
        (OwnFault(106, 120), 1, 107, False),
        (OwnFault(75, 99, "prolog"), 1, 105, True),
        (OwnFault(75, 99, "epilog"), 1, 105, False),
        (OwnFault(101, 101, "prolog", JOB), 1, 105, True),
        (OwnFault(101, 101, "prolog", JOB + 1), 1, 105, False),
    ],
)
def test_a_node_may_be_drained_for_a_fault_of_its_own(
    fault: OwnFault, code: int, drained: float, is_right: bool
) -> None:
    history = good()
    hook(0, code=code)(history)
    why = "the epilog came to no proof [epilog-unproven]" if drained < 0 else "because"
    history.drains.append(Drain(NODE, abs(drained), f"drained: {why}"))
    history.own = {OTHER: [OwnFault(100, 104)], NODE: [fault]}
    assert [found.law for found in violations(history)] == ([] if is_right else ["no drain"])


@pytest.mark.parametrize(
    ("ended", "drained", "lasted", "is_right"),
    [
        (171, 170.5, 160, True),
        (171, 171.5, 160, False),  # by whom?
        (171, 169.5, 160, False),  # before its deadline, whatever came later
        (160, 159.5, 155, False),  # before its deadline
        (171, 170.5, 105, False),  # all was well long ago
    ],
)
def test_an_epilog_may_be_proven_while_its_node_is_being_drained(
    ended: float, drained: float, lasted: float, is_right: bool
) -> None:
    history = History(hooks=[Hook(NODE, JOB, "epilog", 110, ended, 0)], own={NODE: [OwnFault(109, lasted)]})
    history.drains.append(Drain(NODE, drained, f"drained: slurm-demo-{JOB}-0 [epilog-unproven]"))
    assert [found.law for found in violations(history)] == ([] if is_right else ["no drain"])


@pytest.mark.parametrize(("drained", "is_right"), [(104 + 90, True), (104 + 91, False)])
def test_an_epilog_that_was_killed_may_drain_its_node_at_its_deadline_and_no_later(
    drained: float, is_right: bool
) -> None:
    history = History(hooks=[Hook(NODE, JOB, "epilog", 103, 104, 137)], own={NODE: [OwnFault(103, 103)]})
    history.drains.append(Drain(NODE, drained, f"drained: slurm-demo-{JOB}-0 [epilog-unproven]"))
    assert [found.law for found in violations(history)] == ([] if is_right else ["no drain"])


@pytest.mark.parametrize(
    ("away", "ended", "is_right"),
    [
        ([(109, 124), (124.5, 145), (150, 171)], 171, True),
        ([(150, math.inf), (109, 124), (124.5, 145)], 171, True),
        ([(109, 124), (124.5, 145)], 171, False),
        ([(124.5, 145), (150, 171)], 171, True),
        ([(130, 171)], 171, False),
        ([], 171, False),
        ([(109, 119)], 120, False),  # it had not come to its deadline
    ],
)
def test_an_epilog_without_a_daemon_may_come_to_no_proof(
    away: list[tuple[float, float]], ended: float, is_right: bool
) -> None:
    history = good()
    hook(1, ended=ended, code=1)(history)
    history.hooks.append(Hook(NODE, JOB, "epilog", ended + 1, ended + 2, 0))
    history.drains.append(Drain(NODE, ended + 0.4, "drained: Epilog error"))
    history.away = {OTHER: [(109, 171)], NODE: away}
    assert [found.law for found in violations(history)] == ([] if is_right else ["no drain"])


def test_violations_come_in_the_order_of_their_times() -> None:
    history = good()
    history.left.append("marker")
    history.conflicts += [Conflict(NODE, 106, "p"), Conflict(NODE, 105, "unknown")]
    assert [(found.at, found.job) for found in violations(history)[:2]] == [(105, 0), (106, JOB)]
