"""How long the end of a chaos run waits, and for what."""

import pytest

from tests.chaos.ending import QUIET, gone_by, left
from tests.chaos.history import History, Hook, Pod, Workload
from tests.chaos.plan import LIMIT, PROLOG_DEADLINE

_OVER = 5000.0
_SHORT = [Hook("n1", 1, "prolog", 4990, 4991, 1), Hook("n1", 1, "epilog", 4992, 4993, 0)]


@pytest.mark.parametrize("hooks", [[], _SHORT])
def test_where_each_epilog_told_of_its_end_the_wait_is_short(hooks: list[Hook]) -> None:
    assert gone_by(_OVER, hooks) == _OVER + QUIET


@pytest.mark.parametrize("code", [1, 137, None])
def test_a_run_whose_epilog_failed_has_the_time_that_the_daemon_gives_it(code: int | None) -> None:
    late = Hook("n2", 2, "epilog", 4995, None, code)
    assert gone_by(_OVER, [*_SHORT, late, *_SHORT]) > 4995 + 60 * LIMIT + PROLOG_DEADLINE


def test_an_old_one_has_had_it() -> None:
    assert gone_by(_OVER, [Hook("n2", 2, "epilog", 100, None, None)]) == _OVER + QUIET


def test_what_nobody_saw_the_end_of_is_left() -> None:
    history = History(
        workloads={"w": Workload("w", "gone", 1, 1, 9), "v": Workload("v", "stays", 2, 1)},
        pods={
            "p": Pod("p", "gone-0", 1, "n1", 1, 2, 8, 9),
            "q": Pod("q", "outlived-0", 1, "n2", 1, began=2, gone=9),
            "r": Pod("r", "never-ran-0", 2, "n3", 1),
        },
    )
    assert left(history) == ["workload stays", "pod never-ran-0 on n3", "a process of pod outlived-0 on n2"]
