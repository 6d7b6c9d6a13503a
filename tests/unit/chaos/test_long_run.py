"""A long run is done in pieces, until nothing is missing."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.chaos import long_run
from tests.chaos.mixes import ENOUGH, MIXES, USUAL
from tests.chaos.plan import Mix
from tests.failpoints.listed import names, place_of

ALL = dict.fromkeys(names(), ENOUGH)
LINGER = "kill-before-hook.linger"  # which only the mix of nodes seeks
Next = Callable[[list[dict[str, Any]]], Mix | None]


def piece(mix: str, lifecycles: int, strikes: Mapping[str, int] | None = None, seed: int = 1) -> dict[str, Any]:
    return {"mix": mix, "seed": seed, "lifecycles": lifecycles, "failpoints": strikes or {}, "violations": []}


def test_a_run_begins_with_the_usual_mix() -> None:
    assert long_run.next_mix([]) == USUAL


def test_the_mix_that_is_most_behind_is_next() -> None:
    done = [piece("usual", 1000), piece("memory", 500), piece("memory", 500, seed=2), piece("refusals", 900)]
    done += [piece("daemons", 1000), piece("rare", 1000)]
    assert long_run.next_mix(done) == MIXES["nodes"]
    assert long_run.next_mix([*done, piece("nodes", 2000)]) == MIXES["refusals"]


def test_a_mix_that_has_all_that_it_seeks_has_no_piece_any_more() -> None:
    assert long_run.next_mix([piece("usual", 1000, ALL)]) == USUAL


def test_a_mix_that_seeks_what_struck_too_seldom_has_a_piece_whatever_is_through() -> None:
    assert long_run.next_mix([piece("usual", 10_000, ALL | {LINGER: ENOUGH - 1})]) == MIXES["nodes"]


def test_strikes_of_all_pieces_count_together() -> None:
    halves = [piece("usual", 5000, dict.fromkeys(names(), ENOUGH // 2), seed=seed) for seed in (1, 2)]
    assert long_run.next_mix(halves) is None


def test_each_place_is_sought_by_a_mix() -> None:
    """What the usual one has struck too seldom behind 10,000 lifecycles would never be struck again otherwise."""
    sought = frozenset[str]().union(*(mix.seeks for mix in MIXES.values()))
    assert sought == set(map(place_of, names()))


@pytest.mark.parametrize("lacks", ["lifecycles", "strikes", ""])
def test_a_run_is_whole_when_neither_lifecycles_nor_strikes_are_missing(lacks: str) -> None:
    done = piece("usual", 9999 if lacks == "lifecycles" else 10_000, ALL | ({LINGER: 99} if lacks == "strikes" else {}))
    assert (long_run.next_mix([done]) is None) == (not lacks)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """What the long run has run: each piece is through at once, and strikes all."""
    done: list[dict[str, Any]] = []

    def run(stack: object, seed: int, lifecycles: int, out: Path, *, product: str, mix: Mix) -> str:
        assert (stack, out, product) == ("stack", tmp_path, "abc1234")
        done.append(piece(mix.name, lifecycles, ALL, seed))
        return f"report {seed}"

    monkeypatch.setattr(long_run, "run", run)
    monkeypatch.setattr(long_run, "taken", lambda: nullcontext("stack"))
    monkeypatch.setattr(long_run, "commit", lambda: "abc1234")
    monkeypatch.setattr(long_run, "reports", lambda _out, _of: list(done))
    monkeypatch.setattr(long_run, "page", lambda found: [f"{len(found)} pieces"])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("sys.argv", ["long_run", "--seed", "7", "--out", str(tmp_path)])
    return done


def test_each_piece_has_a_seed_of_its_own_and_what_was_done_is_not_done_again(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    ran.append(piece("memory", 8500, seed=40))
    assert long_run.main() == 0
    assert [(each["mix"], each["seed"]) for each in ran[1:]] == [("usual", 41), ("usual", 42)]
    assert "3 pieces" in capsys.readouterr().out


def test_the_first_piece_has_the_seed_that_was_asked_for(ran: list[dict[str, Any]]) -> None:
    assert long_run.main() == 0
    assert [each["seed"] for each in ran] == list(range(7, 17))


def test_a_seed_whose_piece_does_not_count_can_be_passed_over(ran: list[dict[str, Any]]) -> None:
    ran.append(piece("usual", 9000, ALL, seed=5))
    assert long_run.main() == 0
    assert [each["seed"] for each in ran[1:]] == [7]


def test_a_run_whose_piece_broke_a_law_goes_no_further(
    ran: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    ran.append(piece("usual", 1000, seed=3) | {"violations": ["two live workloads"]})
    assert long_run.main() == 1
    assert len(ran) == 1
    assert "goes no further: mix usual, seed 3 broke a law" in capsys.readouterr().out
