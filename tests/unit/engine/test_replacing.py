"""The engine's own `replace` does what that of `dataclasses` does."""

import dataclasses

import pytest

from bridge.engine.replacing import replace
from bridge.engine.state import Phase

from .story import Story, allocation, ready


def test_it_is_the_one_of_dataclasses() -> None:
    run = Story(allocation()).created().workload().sees(ready(0)).run
    before = dataclasses.replace(run)
    changed = replace(run, phase=Phase.RELEASE, sentence="so it is")
    assert changed == dataclasses.replace(run, phase=Phase.RELEASE, sentence="so it is")
    assert run == before
    assert replace(run) == run
    with pytest.raises(dataclasses.FrozenInstanceError):
        changed.sentence = "or not"  # type: ignore[misc]


def test_a_field_that_is_none_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Run\(phases\)"):
        replace(Story(allocation()).began().run, phases=Phase.RELEASE)  # type: ignore[call-arg]
