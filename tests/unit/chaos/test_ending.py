"""How long the end of a chaos run waits."""

import pytest

from tests.chaos.ending import QUIET, gone_by
from tests.chaos.history import Hook
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
