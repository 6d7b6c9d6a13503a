"""Activities in their threads: lanes, stopping, faults."""

import queue
import threading
from collections.abc import Iterator

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.activities import Activity
from bridge.engine.executor import Executor, Task, Work
from bridge.engine.state import Run, new_run
from bridge.errors import Unavailable

from .clients import PATIENCE
from .story import CONFIG, allocation

RUN: Run = new_run(CONFIG, allocation(), 100.0)
CREATE = do.CreateWorkload("{}", 0)
DELETE = do.DeleteWorkload(RUN.name, "job-uid", 0)
PROVE = do.ProveGone(RUN.name, RUN.own_pod_name, RUN.node, 0)
WATCH = do.WatchPods(RUN.name, "")


class Stage:
    """An executor whose activities end when the test says so. ``begun`` has each one that began."""

    def __init__(self) -> None:
        self.begun: queue.SimpleQueue[Activity] = queue.SimpleQueue()
        self.told: queue.SimpleQueue[events.Event] = queue.SimpleQueue()
        self.may_end: dict[type[Activity], threading.Event] = {
            type(activity): threading.Event() for activity in (CREATE, DELETE, PROVE, WATCH)
        }
        self.faults: dict[type[Activity], list[Exception]] = {}
        works: dict[type[Activity], Work] = dict.fromkeys(self.may_end, self._work)
        self.executor = Executor(works, self._post)
        self.ended: threading.Event | None = None  # as the last one that told something came with it

    def _post(self, _run: Run, event: events.Event, ended: threading.Event | None) -> None:
        self.ended = ended
        self.told.put(event)

    def _work(self, task: Task) -> events.Event | None:
        self.begun.put(task.activity)
        assert self.may_end[type(task.activity)].wait(PATIENCE)
        for fault in self.faults.pop(type(task.activity), []):
            raise fault
        return events.WorkloadCreated(1.0, "job-uid") if task.activity == CREATE else events.WorkloadGone(2.0)

    def start(self, *activities: Activity) -> None:
        for activity in activities:
            self.executor.start(RUN, activity)

    def end(self, *activities: Activity) -> None:
        for activity in activities:
            self.may_end[type(activity)].set()

    def begins(self) -> Activity:
        return self.begun.get(timeout=PATIENCE)

    def tells(self) -> events.Event:
        return self.told.get(timeout=PATIENCE)


@pytest.fixture
def stage() -> Iterator[Stage]:
    before = set(threading.enumerate())
    stage = Stage()
    yield stage
    stage.executor.stop_all()
    stage.end(CREATE, DELETE, PROVE, WATCH)
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(PATIENCE)
    assert not [thread.name for thread in left if thread.is_alive()]


def test_activities_of_one_lane_never_overlap(stage: Stage) -> None:
    stage.start(CREATE)
    assert stage.begins() == CREATE
    stage.start(DELETE)
    stage.start(PROVE)
    assert stage.begins() == PROVE, "another lane is free"
    assert stage.begun.empty()
    stage.end(CREATE)
    assert stage.begins() == DELETE


def test_what_was_stopped_before_its_turn_never_begins(stage: Stage) -> None:
    stage.start(CREATE)
    assert stage.begins() == CREATE
    stage.start(DELETE)
    stage.executor.stop(RUN.key, DELETE)
    stage.end(CREATE, DELETE)
    assert isinstance(stage.tells(), events.WorkloadCreated)
    stage.start(PROVE)
    assert stage.begins() == PROVE
    assert stage.told.empty()


def test_what_was_stopped_while_it_ran_still_tells_what_it_did(stage: Stage) -> None:
    """A creation that has happened must be known, or nobody would delete it."""
    stage.start(CREATE)
    assert stage.begins() == CREATE
    stage.executor.stop(RUN.key, CREATE)
    stage.end(CREATE)
    assert stage.tells() == events.WorkloadCreated(1.0, "job-uid")
    assert stage.ended is None


def test_what_a_stopped_watch_tells_is_known_to_be_late(stage: Stage) -> None:
    stage.start(WATCH)
    assert stage.begins() == WATCH
    stage.executor.stop(RUN.key, WATCH)
    stage.end(WATCH)
    stage.tells()
    assert stage.ended is not None and stage.ended.is_set()


def test_a_fault_is_told(stage: Stage) -> None:
    stage.faults[do.CreateWorkload] = [Unavailable("no route to host")]
    stage.start(CREATE)
    stage.end(CREATE)
    told = stage.tells()
    assert isinstance(told, events.Failed)
    assert (told.what, told.fault) == ("create", "api-unreachable")
    assert told.sentence.startswith("the API server does not answer (no route to host); ")


def test_a_bug_is_told_as_a_fault_and_loses_no_lane(stage: Stage) -> None:
    stage.faults[do.CreateWorkload] = [KeyError("uid")]
    stage.start(CREATE)
    stage.end(CREATE)
    told = stage.tells()
    assert isinstance(told, events.Failed)
    assert told.fault == "bridge-bug"
    assert "a fault of the bridge itself in CreateWorkload" in told.sentence
    assert stage.begins() == CREATE
    stage.start(DELETE)
    assert stage.begins() == DELETE


@pytest.mark.parametrize("fault", [Unavailable("no route to host"), KeyError("status")])
def test_a_watch_that_broke_begins_anew(stage: Stage, fault: Exception) -> None:
    stage.faults[do.WatchPods] = [fault]
    stage.start(WATCH)
    stage.end(WATCH)
    assert [stage.begins(), stage.begins()] == [WATCH, WATCH]
    assert isinstance(stage.tells(), events.WorkloadGone)


def test_a_retry_that_was_stopped_while_it_waited_never_begins(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.engine.executor._FIRST_DELAY", 60.0)
    again = do.CreateWorkload("{}", 1)
    stage.start(again)
    stage.executor.stop(RUN.key, again)
    stage.start(PROVE)
    assert stage.begins() == PROVE
    assert stage.begun.empty()
