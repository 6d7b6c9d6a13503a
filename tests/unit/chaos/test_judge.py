"""What was seen is judged anew."""

import json
import pickle
from pathlib import Path

import pytest

from tests.chaos.history import Drain, History
from tests.chaos.judge import main
from tests.chaos.piece import HISTORY


def piece(out: Path, history: History, told: list[str]) -> Path:
    folder = out / "abc1234-1"
    folder.mkdir()
    (folder / HISTORY).write_bytes(pickle.dumps(history))
    (folder / "report.json").write_text(json.dumps({"seed": 1, "violations": told}))
    return folder / "report.json"


@pytest.mark.parametrize(("drains", "code"), [([Drain("n1", 5.0, "because")], 1), ([], 0)])
def test_the_report_tells_what_is_broken_by_the_laws_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], drains: list[Drain], code: int
) -> None:
    report = piece(tmp_path, History(drains=drains), told=["one", "two"])
    monkeypatch.setattr("sys.argv", ["judge", str(tmp_path), "abc1234"])
    assert main() == code
    assert f"2 by the laws of then, {len(drains)} by those of now" in capsys.readouterr().out
    kept = json.loads(report.read_text())
    assert (kept["seed"], [each["law"] for each in kept["violations"]]) == (1, ["no drain"] * len(drains))


def test_where_nothing_is_kept_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["judge", str(tmp_path), "abc1234"])
    assert main() == 1
