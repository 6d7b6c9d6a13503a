"""A run that was adopted, from then on."""

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.state import Phase, Run

from .story import Story, allocation, batch, ended, pod, ready


def adopted(opened: str = "pod-0") -> Story:
    """A story that begins with the adoption."""
    story = batch()
    return story.tell(events.Adopted(story.at, allocation(), "job-uid", opened, reporting=True, rules=story.rules))


def test_an_adopted_run_follows_its_workload_and_opens_no_gate() -> None:
    story = adopted()
    assert story.wants(do.WatchPods)
    assert not story.wants(do.ProveNode)
    story.sees(ready(0), ready(1))
    assert len(story.wants(do.FollowLog)) == 2
    story.sees(ended(0, 0), ended(1, 0))
    assert (outcome := story.outcome()) is not None
    assert outcome.exit_code == 0
    assert story.replayed() == story.run


def test_a_pod_that_came_while_nobody_watched_has_lost_its_predecessor() -> None:
    story = adopted().sees(ready(0), pod(1))
    assert story.run.lost == {1}


def test_a_prolog_that_still_waits_knows_better() -> None:
    story = adopted()
    story.began()
    assert (story.run.phase, story.run.adopted, story.answer()) == (Phase.PROLOG, False, None)
    assert story.replayed() == story.run


def test_what_is_known_of_a_run_stays_when_it_is_found_again() -> None:
    story = batch().created()
    before: Run = story.run
    story.tell(events.Adopted(story.at, allocation(), "other-uid"))
    assert story.run == before
