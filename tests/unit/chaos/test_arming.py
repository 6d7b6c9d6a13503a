"""Which failpoint comes next."""

import pytest

from tests.chaos.arming import Arming, names


class Hand:
    """Of a node; keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def say(self, *words: object) -> None:
        self.told.append(words)


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time; a test may change it."""
    at = [100.0]
    monkeypatch.setattr("tests.chaos.arming.time.monotonic", lambda: at[0])
    return at


def test_one_is_armed_until_it_has_struck(hand: Hand, now: list[float]) -> None:
    one = Arming(1, {"n1": hand}, 5.0)  # type: ignore[dict-item]
    one.turn()
    one.turn()
    ((_, name),) = hand.told
    one.hear("n1", str(name))
    assert one.struck[str(name)] == 1
    one.turn()
    assert len(hand.told) == 1, "it rests before the next one"
    now[0] += 100
    one.turn()
    assert len(hand.told) == 2


def test_what_nobody_comes_to_makes_room(hand: Hand, now: list[float]) -> None:
    one = Arming(1, {"n1": hand}, 5.0)  # type: ignore[dict-item]
    for _ in range(3):
        one.turn()
        now[0] += 10.1
    assert len({name for _, name in hand.told}) == 3
    assert sum(one.struck.values()) == 0


def test_each_has_its_turn(hand: Hand, now: list[float]) -> None:
    one = Arming(1, {"n1": hand}, 0.1)  # type: ignore[dict-item]
    for _ in range(20 * len(names())):
        one.turn()
        one.hear("n1", str(hand.told[-1][1]))
        now[0] += 100
    assert min(one.struck.values()) >= 5


def test_in_the_end_none_is_armed(hand: Hand, now: list[float]) -> None:
    one = Arming(1, {"n1": hand}, 5.0)  # type: ignore[dict-item]
    one.turn()
    one.clear()
    now[0] += 1000
    one.turn()
    assert hand.told[-1] == ("disarm",)
