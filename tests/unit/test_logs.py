"""The daemon's log says every fact, and a fact that goes on and on not without end."""

import io
import json
import sys

import pytest
import structlog

from bridge.logs import _BURST, _KINDS, Thinning, configure


class Log:
    """A log whose clock the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self._thinning = Thinning(lambda: self.now)

    def says(self, **line: object) -> bool:
        """Whether this line comes through."""
        return self.told(**line) is not None

    def told(self, **line: object) -> dict[str, object] | None:
        """The line as it comes through."""
        try:
            return dict(self._thinning(None, "warning", dict(line)))
        except structlog.DropEvent:
            return None


@pytest.fixture
def log() -> Log:
    return Log()


def test_an_outage_of_a_weekend_is_a_few_thousand_lines(log: Log) -> None:
    lines = 0
    for second in range(0, 60 * 3600, 5):
        log.now = float(second)
        lines += log.says(event="activity_failed", run="demo/7.0", activity="ProveGone", error=f"port {second}")
    assert lines == pytest.approx(60 * 60 + _BURST, abs=2)


def test_the_line_after_a_silence_says_how_many_it_stands_for(log: Log) -> None:
    through = [log.says(event="connection_refused", socket="user", uid=1001) for _ in range(500)]
    assert through == [True] * _BURST + [False] * (500 - _BURST)
    log.now = 61.0
    told = log.told(event="connection_refused", socket="user", uid=1001)
    assert told == {"event": "connection_refused", "socket": "user", "uid": 1001, "left_out": 500 - _BURST}
    log.now = 3600.0
    assert log.told(event="connection_refused", socket="user", uid=1001) == {
        "event": "connection_refused",
        "socket": "user",
        "uid": 1001,
    }


def test_a_run_does_not_silence_another(log: Log) -> None:
    for _ in range(2 * _BURST):
        log.says(event="activity_failed", run="demo/7.0", job=7, activity="Report")
    assert not log.says(event="activity_failed", run="demo/7.0", job=7, activity="Report")
    assert log.says(event="activity_failed", run="demo/8.0", job=8, activity="Report")
    assert log.says(event="activity_failed", run="demo/7.0", job=7, activity="ProveGone")
    assert log.says(event="hook_answered", job=7, phase="epilog")


def test_its_own_memory_is_bounded(log: Log) -> None:
    for job in range(3 * _KINDS):
        assert log.says(event="phase", run=f"demo/{job}.0")
    assert len(log._thinning._kinds) == _KINDS


def test_a_traceback_shows_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that asks slurmrestd has the headers, and so the token, among its locals."""
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    configure()
    headers = {"X-SLURM-USER-TOKEN": "sesame"}
    try:
        try:
            len(headers["X-SLURM-USER-NAME"])
        except KeyError:
            structlog.get_logger().exception("activity_bug")
    finally:
        structlog.reset_defaults()
    line = json.loads(told.getvalue())
    assert line["exception"][0]["exc_type"] == "KeyError"
    assert line["exception"][0]["frames"][-1]["filename"] == __file__
    assert "sesame" not in told.getvalue()
