"""Whatever can happen to a run is taken in by one module."""

from typing import get_args

from bridge.engine import beginning, events, proofs, replies, sightings


def test_each_event_is_taken_in_once() -> None:
    modules = (beginning, sightings, replies, proofs)
    taken = [kind for module in modules for kind in module.HANDLERS] + [events.Ticked]
    told = get_args(get_args(events.Event)[0])
    assert sorted(taken, key=str) == sorted(told, key=str)
