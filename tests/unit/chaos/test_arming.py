"""Which failpoints come next."""

from collections import Counter

import pytest

from tests.chaos.arming import Arming
from tests.chaos.mixes import MIXES
from tests.chaos.plan import Mix
from tests.chaos.sparing import silences_daemon
from tests.failpoints import failpoint, hooks
from tests.failpoints.listed import names, place_of

from .hand import NOTHING, Hand, arming


def test_many_are_armed_until_one_has_struck(hand: Hand, now: list[float]) -> None:
    one = arming(hand)
    one.turn()
    one.turn()
    assert len(hand.told) == 1
    assert len(set(hand.armed)) == len(hand.armed) > 10
    assert set(hand.armed) < set(names())
    one.hear("n1", hand.armed[0])
    assert one.struck[hand.armed[0]] == 1
    one.turn()
    assert len(hand.told) == 1, "it rests before the next ones"
    now[0] += 100
    one.turn()
    assert len(hand.told) == 2


def test_what_nobody_comes_to_makes_room(hand: Hand, now: list[float]) -> None:
    one = arming(hand)
    for _ in range(3):
        one.turn()
        now[0] += 10.1
    assert len({frozenset(armed) for armed in hand.told}) == 3
    assert sum(one.struck.values()) == 0


def test_each_has_its_turn(hand: Hand, now: list[float]) -> None:
    one = arming(hand, gap=0.1)
    for _ in range(20 * len(names())):
        one.turn()
        one.hear("n1", hand.armed[0])
        now[0] += 100
    assert min(one.struck.values()) >= 5


def test_a_place_that_has_struck_on_a_node_lets_everybody_pass_there_for_a_while(now: list[float]) -> None:
    hands = {"n1": Hand(), "n2": Hand()}
    mix = MIXES["nodes"]
    one = Arming(1, hands, mix.pace, NOTHING, mix)
    one.turn()
    killed = next(name for name in hands["n1"].armed if name.startswith("kill-"))
    struck = place_of(killed)
    one.hear("n1", killed)
    assert {place_of(name) for name in hands["n1"].armed} == mix.seeks - {struck}
    assert {place_of(name) for name in hands["n2"].armed} == mix.seeks
    now[0] += 60
    one.turn()
    assert {place_of(name) for name in hands["n1"].armed} == mix.seeks
    while not (late := [name for name in hands["n1"].armed if name.startswith("late-")]):
        now[0] += 10
        one.turn()
    one.hear("n1", late[0])
    assert {place_of(name) for name in hands["n1"].armed} == mix.seeks, "what only comes late keeps nobody"


def test_a_fault_that_kills_arms_nothing_where_failpoints_rest(hand: Hand) -> None:
    one = arming(hand, gap=5.0)
    one.turn()
    one.hear("n1", "late-before-reply.hello")
    one.silenced("n1")
    assert len(hand.told) == 1


def test_a_place_is_armed_for_one_harm_at_a_time(hand: Hand, now: list[float]) -> None:
    """Whoever comes there would always meet the kill, and never the answer that fails."""
    mix, place = MIXES["memory"], "kubernetes.pod"
    harms = {"kill-after-kubernetes.pod", "fail-after-kubernetes.pod"}
    done = {name: mix.enough for name in names() if name not in harms}
    one = arming(hand, before=done, mix=mix)
    for _ in range(20):
        one.turn()
        now[0] += 10
    assert {armed[1:] for armed in hand.told} == {(name,) for name in harms if place_of(name) == place}


@pytest.mark.parametrize("mix", [mix for mix in MIXES.values() if mix.seeks], ids=lambda mix: mix.name)
def test_few_of_those_sought_silence_a_daemon_at_a_time_and_each_has_its_turn(
    hand: Hand, now: list[float], mix: Mix
) -> None:
    """The first ones on a run's way would else have each kill, and the later ones a daemon that is spared."""
    sought = {place_of(name) for name in names() if silences_daemon(name)} & mix.seeks
    one = arming(hand, before={name: mix.enough for name in names() if not silences_daemon(name)}, mix=mix)
    for _ in range(100):
        one.turn()
        now[0] += 10
    armed = [set(map(place_of, told[1:])) for told in hand.told]
    assert set(map(len, armed)) == {min(10, len(sought))}
    assert set().union(*armed) == sought


def test_every_harm_has_its_rest(hand: Hand) -> None:
    one = arming(hand)
    for name in names():
        one.hear("n1", name)
    assert set(one.struck.values()) == {1}


def test_what_has_struck_in_earlier_pieces_waits(hand: Hand, now: list[float]) -> None:
    often, seldom = names()[:200], set(names()[200:])
    one = arming(hand, before=dict.fromkeys(often, 100))
    for _ in range(20):
        one.turn()
        assert len(seldom & set(hand.armed)) > len(hand.armed) // 2
        now[0] += 10


def test_of_those_sought_what_is_missing_most_comes_first(hand: Hand, now: list[float]) -> None:
    mix = MIXES["memory"]
    first, later = "kill-before-kubernetes.delete_pod", "kill-before-reply.line"
    sought = [name for name in names() if place_of(name) in mix.seeks]
    one = arming(hand, before=dict.fromkeys(sought, mix.enough - 10) | {first: mix.enough - 70}, mix=mix)
    for _ in range(200):
        one.turn()
        now[0] += 10
    armed = Counter(name for told in hand.told for name in told[1:])
    assert armed[first] > 150 and 5 < armed[later] < 50


def test_on_every_other_node_a_daemon_is_silenced_by_what_is_missing_most_alone(now: list[float]) -> None:
    """At the end of a run it would else be spared for what has struck at the begin."""
    mix, hands = MIXES["memory"], {"n1": Hand(), "n2": Hand()}
    at_begin, at_end, late = "kill-after-kubernetes.create_workload", "kill-before-reply.end", "late-after-reply.line"
    lacks = {at_begin: 32, at_end: 66, "kill-before-reply.line": 33, late: 20}
    done = {name: mix.enough - lacks.get(name, 0) for name in names()}
    one = Arming(1, hands, mix.pace, done, mix)
    for _ in range(50):
        one.turn()
        now[0] += 10
    armed = {node: {name for told in hand.told for name in told[1:]} for node, hand in hands.items()}
    assert armed == {"n1": set(lacks), "n2": set(lacks) - {at_begin}}


def test_what_has_struck_often_enough_is_armed_no_more(hand: Hand, now: list[float]) -> None:
    mix = MIXES["nodes"]
    sought = [name for name in names() if place_of(name) in mix.seeks]
    still = [next(name for name in sought if place_of(name) == place) for place in sorted(mix.seeks)[:3]]
    one = arming(hand, before=dict.fromkeys(sought, 100) | dict.fromkeys(still, 99), mix=mix)
    one.turn()
    assert set(hand.armed) == set(still), "and no other place's, however seldom it has struck"
    one.hear("n1", still[0])
    now[0] += 1000
    one.turn()
    assert set(hand.armed) == set(still[1:])


def test_without_a_gap_the_next_are_armed_at_once_until_the_end(hand: Hand) -> None:
    one = arming(hand, gap=0)
    one.turn()
    for number in range(2, 5):
        one.hear("n1", hand.armed[0])
        assert len(hand.told) == number
    one.clear()
    one.hear("n1", "kill-before-hook.linger")
    assert hand.told[-1] == ("disarm",)


def test_in_the_end_none_is_armed(hand: Hand, now: list[float]) -> None:
    one = arming(hand)
    one.turn()
    one.clear()
    now[0] += 1000
    one.turn()
    assert hand.told[-1] == ("disarm",)


def test_a_name_says_whose_it_is() -> None:
    """An agent gives hooks and daemon what is theirs, a line for each."""
    assert all(len(name.split()) == 1 for name in names())
    assert len(names()) == len(set(names()))
    assert all("-hook." in name for place in hooks.PLACES for name in hooks.possible(place))
    assert not any("-hook." in str(each) for place in failpoint.PLACES for each in failpoint.possible(place))
