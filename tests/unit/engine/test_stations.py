"""When a run passed which station: told once, by the calendar, and the same after a replay."""

from dataclasses import replace

from bridge.engine import events
from bridge.engine.stations import noted
from bridge.job.pods import PodFacts

from .story import Story, batch, ended, pod, ready

OFFSET = 1_700_000_000.0


def dated(story: Story) -> Story:
    """A story whose daemon knows the calendar."""
    spec = batch().began().told[0]
    assert isinstance(spec, events.PrologBegan)
    return story.tell(replace(spec, allocation=story.here, clock_offset=OFFSET))


def created() -> Story:
    story = dated(batch(1))
    made = batch(1).created().told[1:]
    for event in made:
        story.tell(replace(event, at=event.at + 2))
    return story


def passed(story: Story) -> dict[str, float]:
    return {name: at - OFFSET for name, at in story.run.stations.items()}


def test_a_run_notes_each_station_once_and_when() -> None:
    story = created()
    story.at = 103.0
    story.sees(pod(0)).tell(events.GateOpened(104.0, "pod-0"))
    story.at = 107.0
    story.sees(ready(0)).tell(events.Attached(108.0)).tell(events.Attached(109.0))
    story.at = 120.0
    story.sees(ended(0, 0)).tell(events.EpilogBegan(121.0, clock_offset=OFFSET))
    story.tell(events.WorkloadGone(122.0)).tell(events.PodsClear(123.0)).tell(events.Scanned(124.0, ()))
    assert passed(story) == {
        "prolog": 100.0,
        "created": 102.0,
        "opened": 104.0,
        "ready": 107.0,
        "answered": 107.0,
        "attached": 108.0,
        "ended": 120.0,
        "epilog": 121.0,
        "deleted": 122.0,
        "clear": 123.0,
        "released": 124.0,
    }
    assert story.replayed().stations == story.run.stations


def test_a_station_that_is_come_to_again_keeps_its_first_time() -> None:
    run = created().run
    again = noted(replace(run, workload_uid=""), run, 500.0)
    assert again.stations == run.stations


def test_a_verdict_is_a_station() -> None:
    story = created().tell(events.Refused(103.0, "no"))
    assert passed(story)["judged"] == 103.0


def test_what_an_earlier_version_began_has_no_station_before_its_epilog() -> None:
    story = batch(1).created().sees(ready(0))
    assert story.run.stations == {}
    story.tell(events.EpilogBegan(200.0, clock_offset=OFFSET))
    assert passed(story) == {"epilog": 200.0}, "a wrong time would be worse than none"


def test_after_a_boot_the_epilogs_own_calendar_counts() -> None:
    story = created().tell(events.EpilogBegan(5.0, clock_offset=OFFSET + 900))
    assert passed(story)["epilog"] == 905.0 and passed(story)["prolog"] == 100.0


def test_a_forgotten_run_has_no_prolog() -> None:
    story = batch(1).tell(events.EpilogBegan(100.0, None, "demo", 7, clock_offset=OFFSET))
    assert passed(story) == {"epilog": 100.0}


def test_a_pod_keeps_the_times_that_it_no_longer_shows() -> None:
    first, last = "2026-01-01T00:00:01Z", "2026-01-01T00:00:03Z"
    story = batch(1).created().sees(replace(ready(0), scheduled_at=first, ready_at=last), ended(0, 0))
    kept: PodFacts = story.run.pods[0]
    assert (kept.over, kept.scheduled_at, kept.ready_at) == (True, first, last)
    other = replace(kept, uid="another", scheduled_at="", ready_at="")
    assert other.remembering(kept) == other
