"""How the batch node asks slurmctld about its job while the prolog waits: once a period, so that a cancel is
noticed within one."""

import threading
from typing import Any

import pytest
from structlog.testing import capture_logs

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Task
from bridge.engine.slurm_work import SlurmWork
from bridge.engine.state import new_run
from bridge.errors import Unavailable
from bridge.slurmrest.api import Credential
from tests.fakes.slurmrest import FakeSlurmRest, a_job

from .node import eventually
from .story import CONFIG, allocation
from .world import World

PERIOD = CONFIG.timing.poll_period
ME = Credential("ml", "owner's")


class Pauses(threading.Event):
    """A stop signal that comes after so many pauses, and has the seconds of each."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._count = count

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        return len(self.seconds) > self._count


def poll(rest: FakeSlurmRest, pauses: Pauses, who: Credential | None = ME) -> events.Event | None:
    """The poll of job 7's first start."""
    activity = do.PollJob(7)
    task = Task(new_run(CONFIG, allocation(), 100.0), activity, lambda _event: None, pauses)
    works: Any = SlurmWork(CONFIG, rest, lambda _key: who).works()
    event: events.Event | None = works[do.PollJob](task)
    return event


def test_it_asks_once_a_period_however_long_the_prolog_waits() -> None:
    rest, pauses = FakeSlurmRest(a_job(7)), Pauses(50)
    assert poll(rest, pauses) is None
    assert 0 <= pauses.seconds[0] <= PERIOD
    assert pauses.seconds[1:] == [PERIOD] * 50
    assert rest.faults.calls.count("job") == 50


def test_jobs_that_started_together_ask_at_different_moments() -> None:
    first: set[float] = set()
    for _ in range(20):
        pauses = Pauses(0)
        poll(FakeSlurmRest(a_job(7)), pauses)
        first.add(pauses.seconds[0])
    assert len(first) > 1


@pytest.mark.parametrize(
    "states",
    [
        {"CANCELLED", "COMPLETING"},
        {"TIMEOUT", "COMPLETING"},
        {"PENDING", "COMPLETING", "REQUEUED"},
        {"NODE_FAIL", "COMPLETING"},
        {"PREEMPTED", "COMPLETING"},
    ],
)
def test_an_end_is_told_at_the_first_look_after_it(states: set[str]) -> None:
    rest, pauses = FakeSlurmRest(a_job(7, states=frozenset(states))), Pauses(5)
    event = poll(rest, pauses)
    assert isinstance(event, events.JobLearned) and event.record.states == states
    assert len(pauses.seconds) == 1


def test_a_job_that_runs_again_already_ends_this_run() -> None:
    event = poll(FakeSlurmRest(a_job(7, restart_count=1)), Pauses(5))
    assert isinstance(event, events.JobLearned)


def test_a_slurmctld_that_does_not_answer_is_asked_ever_more_seldom_and_a_good_answer_ends_that() -> None:
    rest, pauses = FakeSlurmRest(a_job(7)), Pauses(12)
    rest.faults.fail("job", *[Unavailable("Slurm: unable to contact slurm controller")] * 10)
    assert poll(rest, pauses) is None
    after_faults, after_answers = pauses.seconds[1:11], pauses.seconds[11:]
    assert after_faults[0] <= 1.2 * PERIOD
    assert all(4.8 * PERIOD <= seconds <= 7.2 * PERIOD for seconds in after_faults[5:])
    assert after_answers == [PERIOD] * 2


def test_a_look_that_fails_is_logged_with_its_row() -> None:
    rest = FakeSlurmRest(a_job(7))
    rest.faults.fail("job", Unavailable("Slurm: (error 1800)", reason="1800"))
    with capture_logs() as logs:
        poll(rest, Pauses(1))
        poll(rest, Pauses(1), who=None)
    assert [entry["fault"] for entry in logs if entry["event"] == "poll_failed"] == [
        "slurmctld-silent",
        "slurm-no-token",
    ]


def test_without_a_token_at_hand_it_waits_for_the_next_one() -> None:
    rest = FakeSlurmRest(a_job(7))
    assert poll(rest, Pauses(3), who=None) is None
    assert rest.faults.calls == []


def test_without_a_token_only_the_deadline_ends_the_wait_and_drains_nobody(world: World) -> None:
    """Nobody can ask slurmctld, so a cancelled job's nodes stay in COMPLETING until then."""
    world.cluster.rest()  # no pod ever comes
    first, second = world.node("n1", prolog_deadline=1.0), world.node("n2", prolog_deadline=1.0)
    job = world.job("n1", "n2", gpus=0)
    hooks = [first.prolog(job, token=None, token_error="scontrol token is forbidden"), second.prolog(job)]
    eventually(world.workloads)
    world.rest.update(job.id, states=frozenset({"CANCELLED", "COMPLETING"}))
    assert [hook.exit() for hook in hooks] == [0, 0]
    assert world.rest.faults.calls == []
    world.cluster.play()
    assert [node.epilog(job, token=None).exit() for node in (first, second)] == [0, 0]
    world.left_nothing()
