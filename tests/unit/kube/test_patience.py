"""The time of a call, behind calls that ran out and calls that were answered."""

import pytest

from bridge.errors import NotFound, Unavailable
from bridge.kube.patience import Patience


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The one entry is what time it is."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def run_out(patience: Patience, moment: list[float]) -> None:
    with pytest.raises(Unavailable), patience.of_a_call() as seconds:
        moment[0] += seconds
        raise Unavailable("timed out")


def test_behind_one_that_ran_out_there_is_twice_the_time_and_at_most_four_times(moment: list[float]) -> None:
    patience, given = Patience(10), []
    for _ in range(4):
        run_out(patience, moment)
        given.append(patience.seconds)
    assert given == [20, 40, 40, 40]


def test_each_answer_takes_half_of_it_back(moment: list[float]) -> None:
    patience = Patience(10)
    run_out(patience, moment)
    run_out(patience, moment)
    given = []
    for _ in range(3):
        with patience.of_a_call() as seconds:
            given.append(seconds)
    assert given == [40, 20, 10] and patience.seconds == 10


def test_many_that_run_out_together_count_once(moment: list[float]) -> None:
    patience = Patience(10)
    with pytest.raises(Unavailable), patience.of_a_call():
        run_out(patience, moment)
        raise Unavailable("timed out")
    assert patience.seconds == 20


def test_no_answer_at_once_says_nothing_about_time(moment: list[float]) -> None:
    patience = Patience(10)
    with pytest.raises(Unavailable), patience.of_a_call():
        moment[0] += 2
        raise Unavailable("connection refused")
    assert patience.seconds == 10


def test_a_refusal_is_an_answer(moment: list[float]) -> None:
    patience = Patience(10)
    run_out(patience, moment)
    with pytest.raises(NotFound), patience.of_a_call():
        moment[0] += 20
        raise NotFound("404")
    assert patience.seconds == 10
