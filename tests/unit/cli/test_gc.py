"""`bridgectl gc` in words, and the exit code that a script can rely on."""

from typing import Any

import pytest

from bridge.cli import gc, main

_ROWS: dict[str, dict[str, Any]] = {
    "live": {"state": "live", "why": "it goes on", "message": "live-here", "deleted_in": None, "cure": None},
    "orphan": {"state": "orphan", "why": "it was released", "deleted_in": 212.0, "cure": None},
    "deleting": {"state": "deleting", "why": "it was deleted", "deleted_in": None, "cure": None},
    "unconfirmed": {"state": "unconfirmed", "why": "nobody knows", "deleted_in": None, "cure": "unless …: kubectl"},
}


def answer(*states: str, **more: Any) -> dict[str, Any]:
    """What the daemon answers."""
    rows = [{"workload": f"slurm-demo-{index}-0", "job": index} | _ROWS[state] for index, state in enumerate(states)]
    return {"kind": "gc", "workloads": rows, "more": 0, "deleted": [], "strays": [], "faults": []} | more


STRAY = [{"pod": "p", "uid": "u", "run": "r"}]


@pytest.mark.parametrize(
    ("found", "dry", "real"),
    [
        (answer(), 0, 0),
        (answer("live", "deleting"), 0, 0),
        (answer("orphan"), 0, 1),
        (answer("live", "unconfirmed"), 1, 1),
        (answer(deleted=[{"workload": "w", "why": "over"}]), 0, 0),
        (answer(strays=STRAY), 1, 1),
        (answer(faults=["the pods of this node are not known"]), 1, 1),
    ],
)
def test_the_exit_code_says_whether_a_person_is_needed(found: dict[str, Any], dry: int, real: int) -> None:
    assert (gc.exit_code(found, dry_run=True), gc.exit_code(found, dry_run=False)) == (dry, real)


def test_a_dry_run_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    gc.tell(answer("live", "orphan", "unconfirmed", more=3, strays=STRAY, faults=["no pods"]), dry_run=True)
    assert capsys.readouterr().out.splitlines() == [
        "slurm-demo-0-0: live: it goes on [live-here]",
        "slurm-demo-1-0: orphan, deleted in 212 s: it was released",
        "slurm-demo-2-0: unconfirmed: nobody knows",
        "    unless …: kubectl",
        "and 3 more, which come when these have gone",
        "pod p (uid u): its run was released on this node [stray-pod]; see who made it, delete it",
        "fault: no pods",
        "orphans go by themselves; `bridgectl gc` confirms them once more and deletes them now",
    ]


def test_a_collection_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    gc.tell(answer("orphan", deleted=[{"workload": "w", "why": "it was released"}]), dry_run=False)
    assert capsys.readouterr().out.splitlines() == [
        "slurm-demo-0-0: orphan: it was released",
        "w: deleted: it was released",
    ]


def test_nothing_is_said_to_be_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    gc.tell(answer(), dry_run=True)
    assert capsys.readouterr().out == "no workload has its batch node here\n"


def test_status_says_what_is_left_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"seconds_ago": 3.0, "workloads": 4, "orphans": 0, "unconfirmed": 0, "strays": 0}
    gc.tell_summary(counts)
    assert capsys.readouterr().out == ""
    gone = [{"workload": "w", "why": "it was released", "seconds_ago": 61.2}]
    gc.tell_summary(counts | {"orphans": 2, "strays": 1, "details": {"faults": ["no answer"], "deleted": gone}})
    assert capsys.readouterr().out.splitlines() == [
        "left of runs: orphaned workloads: 2, pods of released runs: 1; see bridgectl gc --dry-run",
        "reconciler: no answer",
        "orphan w deleted 61 s ago: it was released",
    ]


def test_gc_is_for_root(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(main.os, "geteuid", lambda: 2001)  # type: ignore[attr-defined]
    assert main.main(["gc", "--dry-run"]) == 64
    assert capsys.readouterr().err.endswith("run it as root\n")
