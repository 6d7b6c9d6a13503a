"""`bridgectl signal`: on its node, with what the daemon says of the job's pods there."""

import json
import signal
from typing import Any

import pytest

from bridge.cli import processes, sources
from bridge.cli.main import main
from bridge.cli.processes import Sent


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (Sent(2, 3), "SIGUSR1 was sent to 2 processes of the ranks"),
        (Sent(0, 3), "SIGUSR1 was sent to nobody: none of the 3 processes"),
    ],
)
def test_what_came_of_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sent: Sent, words: str
) -> None:
    asked: list[Any] = []
    shown = {"kind": "run", "run": {"job": 7, "pod_uids_here": ["a-uid"]}}
    monkeypatch.setattr(sources, "ask_once", lambda _: shown)

    def send(*given: Any) -> Sent:
        asked.append(given)
        return sent

    monkeypatch.setattr(processes, "send", send)
    assert main(["signal", "7", "usr1"]) == 0
    assert words in capsys.readouterr().out
    assert main(["signal", "7", "SIGUSR1", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"signalled": sent.signalled, "processes": 3}
    assert asked == [(["a-uid"], signal.SIGUSR1)] * 2


@pytest.mark.parametrize("name", ["NOPE", "", "9", "SIG"])
def test_what_is_no_signal_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["signal", "7", name])
    assert "signal" in capsys.readouterr().err.lower()
