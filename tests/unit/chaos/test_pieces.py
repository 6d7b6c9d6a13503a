"""A long run is done in pieces."""

import pytest

from tests.chaos.__main__ import pieces


@pytest.mark.parametrize(
    ("lifecycles", "expected"),
    [(200, [(7, 200)]), (500, [(7, 500)]), (1200, [(7, 500), (8, 500), (9, 200)])],
)
def test_each_has_a_seed_of_its_own(lifecycles: int, expected: list[tuple[int, int]]) -> None:
    assert list(pieces(7, lifecycles, most=500)) == expected
