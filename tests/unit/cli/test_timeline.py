"""The time line of three clocks: its order, what it waited for, and what nobody knows."""

from typing import Any

from bridge.cli.timeline import line_of, seconds, unknown_of, waits_of

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def pod(node: str, *offsets: int) -> dict[str, Any]:
    """A pod of these times: bound, pulling, started."""
    names = ("scheduled_at", "sandbox_at", "started_at")
    times = {name: f"2026-01-01T00:00:{offset:02}Z" for name, offset in zip(names, offsets, strict=False)}
    return {"node": node, **times}


def run(**changes: Any) -> dict[str, Any]:
    """A released run of two nodes, as `show` tells it on the batch node."""
    offsets = {"prolog": 5.2, "created": 5.4, "opened": 5.6, "ready": 41.5, "answered": 41.6, "attached": 42.0}
    offsets |= {"ended": 50.0, "epilog": 51.0, "deleted": 51.1, "clear": 52.0, "released": 52.1}
    told: dict[str, Any] = {
        "phase": "released",
        "rank": 0,
        "nodes": ["n1", "n2"],
        "outcome": {"exit": 0, "reason": ""},
        "slurm": {"submitted": START, "eligible": START, "allocated": START + 5},
        "pods": {0: pod("n1", 6, 7, 9), 1: pod("n2", 6, 7, 40)},
        "stations": {name: START + offset for name, offset in offsets.items()},
    }
    return told | changes


def names(told: dict[str, Any]) -> list[str]:
    return [passed.station.name for passed in line_of(told)]


def test_a_whole_life_in_the_order_in_which_it_is_passed() -> None:
    assert names(run()) == [
        "submitted",
        "eligible",
        "allocated",
        "prolog",
        "created",
        "opened",
        "scheduled",
        "pulling",
        "started",
        "ready",
        "answered",
        "script",
        "ended",
        "epilog",
        "released",
    ]
    assert unknown_of(run()) == []


def test_what_it_waited_for_names_the_last_rank() -> None:
    waits = {wait.until: wait for wait in waits_of(run(), START + 100)}
    assert (waits["allocated"].seconds, waits["started"].seconds) == (5.0, 33.0)
    assert "image" in waits["started"].what and "created" not in waits
    (started,) = [passed for passed in line_of(run()) if passed.station.name == "started"]
    assert started.note == "last rank 1 on n2"
    assert all(wait.over for wait in waits.values())


def test_what_it_waits_for_now() -> None:
    told = run(phase="prolog", outcome=None, pods={0: pod("n1", 6, 7, 9), 1: pod("n2", 6, 7)})
    told["stations"] = {name: told["stations"][name] for name in ("prolog", "created", "opened")}
    (started,) = [passed for passed in line_of(told) if passed.station.name == "started"]
    assert started.note == "1 of 2, last rank 0 on n1"
    last = waits_of(told, START + 39)[-1]
    assert (last.until, last.seconds, last.over) == ("ready", 30.0, False)


def test_a_refused_job_waits_for_its_end_and_nothing_else() -> None:
    told = run(phase="running", verdict="job", outcome=None, pods={})
    told["stations"] = {"prolog": START + 5, "judged": START + 25, "answered": START + 26}
    assert names(told)[3:] == ["prolog", "judged", "answered"]
    assert unknown_of(told) == [], "no workload was ever made"
    assert waits_of(told, START + 36)[-1].until == "epilog"


def test_what_nobody_knows_is_named() -> None:
    told = run(stations={"epilog": START + 51, "released": START + 52}, pods={}, slurm=None)
    assert unknown_of(told) == [
        "submitted",
        "allocated",
        "prolog",
        "created",
        "opened",
        "scheduled",
        "started",
        "ready",
        "answered",
        "ended",
    ]
    assert "created" not in unknown_of(told | {"rank": 1}), "another node does not create it"


def test_clocks_that_round_make_no_wait_of_less_than_nothing() -> None:
    told = run(pods={0: pod("n1", 5, 5, 5)})
    assert all(wait.seconds >= 1 for wait in waits_of(told, START))


def test_what_is_no_time_is_left_out() -> None:
    told = run(pods={0: {"scheduled_at": "yesterday", "node": "n1"}}, stations={"of-the-future": 1.0})
    assert names(told) == ["submitted", "eligible", "allocated"]
    assert (seconds(""), seconds("2026-01-01T00:00:00Z")) == (None, START)


def test_of_nothing_nothing_is_told() -> None:
    empty: dict[str, Any] = {"phase": "ended", "nodes": [], "stations": {}, "slurm": None, "pods": {}}
    assert (line_of(empty), waits_of(empty, START)) == ([], [])
