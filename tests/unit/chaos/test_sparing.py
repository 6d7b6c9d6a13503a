"""A daemon is left alone while a hook may wait for it."""

import pytest

from bridge.hook import conversation
from bridge.hook.paths import Patience
from tests.chaos.arming import Arming
from tests.chaos.mixes import MIXES
from tests.chaos.plan import NONE_OF_OURS, Mix
from tests.chaos.sparing import silences_daemon
from tests.failpoints import failpoint
from tests.failpoints.listed import names, place_of

from .hand import NOTHING, Hand, arming


@pytest.mark.parametrize("name", ["", "kill-before-reply.hello", "hang-before-journal.append"], ids=str)
def test_a_daemon_is_not_silenced_again_while_a_hook_may_wait_for_the_next_one(
    hand: Hand, now: list[float], name: str
) -> None:
    one = arming(hand, gap=0)
    one.turn()
    assert any(map(silences_daemon, hand.armed)) and not one.sparing.spares("n1")
    if name:
        one.hear("n1", name)
    else:
        one.silenced("n1")
    for _ in range(9):  # to 45 s
        assert hand.armed and not any(map(silences_daemon, hand.armed)) and one.sparing.spares("n1")
        now[0] += 5.0
        one.turn()
    assert any(map(silences_daemon, hand.armed)) and not one.sparing.spares("n1")


@pytest.mark.parametrize("mix", MIXES.values(), ids=lambda mix: mix.name)
def test_a_daemon_that_serves_is_silenced_again_as_soon_as_its_mix_allows(
    hand: Hand, now: list[float], mix: Mix
) -> None:
    """However long it took to begin: with one that serves the patience of each hook that waits is whole again."""
    one = Arming(1, {"n1": hand}, mix.pace, NOTHING, mix)
    one.silenced("n1")
    now[0] += 3
    one.sparing.serves("n1")
    now[0] += min(mix.pace.serves, mix.pace.silences - 3) - 0.1
    assert one.sparing.spares("n1")
    now[0] += 0.2
    assert not one.sparing.spares("n1")
    one.sparing.serves("n1")
    assert not one.sparing.spares("n1"), "systemd has begun it anew, and nobody had silenced it"


def test_who_begins_is_silenced_once_more_where_that_is_sought(hand: Hand, now: list[float]) -> None:
    def silencing() -> set[str]:
        return {place_of(name) for name in hand.armed if silences_daemon(name)}

    mix = MIXES["daemons"]
    one = Arming(1, {"n1": hand}, mix.pace, NOTHING, mix)
    for _ in range(2):
        one.hear("n1", "kill-before-reply.hello")
        for _ in range(7):  # a write to the journal may also come late
            if silencing():
                break
            now[0] += 5.0
            one.turn()
        assert silencing() == {"journal.set_note"} and one.sparing.spares("n1")
        one.hear("n1", next(name for name in hand.armed if place_of(name) == "journal.set_note"))
        for _ in range(9):  # to 45 s
            assert not silencing() and one.sparing.spares("n1")
            now[0] += 5.0
            one.turn()
        assert silencing() - {"journal.set_note"}, "it is as any other one again"


@pytest.mark.parametrize("name", [name for name in names() if place_of(name) == "journal.set_note"])
def test_who_begins_is_silenced_in_each_way(hand: Hand, name: str) -> None:
    mix = MIXES["daemons"]
    done = {each: mix.enough for each in names() if each != name}
    one = Arming(1, {"n1": hand}, mix.pace, done, mix)
    one.hear("n1", "kill-before-reply.hello")
    assert hand.armed == (name,)


@pytest.mark.parametrize("mix", [mix for mix in MIXES.values() if mix.name != "daemons"], ids=lambda mix: mix.name)
def test_who_begins_is_spared_by_every_other_mix(hand: Hand, now: list[float], mix: Mix) -> None:
    one = arming(hand, gap=0, mix=mix)
    one.hear("n1", "kill-before-reply.hello")
    for _ in range(8):
        assert hand.armed and not any(map(silences_daemon, hand.armed))
        now[0] += 5.0
        one.turn()


def test_who_hangs_in_a_thread_of_its_own_silences_no_daemon() -> None:
    assert {name for name in names() if name.startswith("hang-") and silences_daemon(name)} == {
        f"hang-before-{place}" for place in failpoint.PLACES if place.startswith("journal.")
    } | {"hang-before-reply.hello", "hang-before-reply.scan", "hang-before-reply.answer"}


def test_no_mix_silences_a_daemon_sooner_than_a_hook_gives_it_up() -> None:
    assert min(mix.pace.silences for mix in MIXES.values()) >= Patience().foreign


def test_no_mix_silences_a_daemon_before_each_hook_that_waits_has_found_it() -> None:
    assert min(mix.pace.serves for mix in MIXES.values()) >= 5 * conversation._PAUSE_LONGEST


def test_where_daemons_hang_as_they_begin_no_hook_gives_one_up_after_that() -> None:
    """A prolog of none of ours waits half as long as others (bridge.hook.paths.Patience)."""
    for mix in MIXES.values():
        assert "journal.set_note" not in mix.seeks or not mix.kinds.keys() & set(NONE_OF_OURS)
