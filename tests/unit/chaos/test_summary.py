"""What several pieces come to."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.piece import reports
from tests.chaos.summary import main, page


def piece(seed: int, strikes: int, *violations: str, commit: str = "abc1234") -> dict[str, Any]:
    return {
        "commit": commit,
        "mix": "usual",
        "seed": seed,
        "nodes": 32,
        "lifecycles": 1000,
        "seconds": 1800,
        "hooks": 5000,
        "pods": 2000,
        "drains": 3,
        "kinds": {"success": 600, "cancel": 400},
        "states": {"COMPLETED": 600, "CANCELLED": 400},
        "faults": {"daemon killed": 7},
        "met": {},
        "failpoints": {"kill-before-hook.linger": strikes, "fail-after-reply.end": 150},
        "violations": list(violations),
    }


def kept(root: Path, *pieces: dict[str, Any]) -> Path:
    for each in pieces:
        folder = root / f"{each['commit']}-{each['seed']}"
        folder.mkdir()
        (folder / "report.json").write_text(json.dumps(each))
    return root


def test_pieces_are_summed_up(tmp_path: Path) -> None:
    out = kept(tmp_path, piece(10, 40, "one"), piece(9, 30), piece(1, 7, commit="other"))
    text = "\n".join(page(reports(out, "abc1234")))
    assert "| abc1234 | usual | 9 | 32 | 1,000 | 30 | 5,000 | 2,000 | 3 | 180 | 0 |\n| abc1234 | usual | 10 " in text
    assert "| all | | |  | 2,000 | 60 | 10,000 | 4,000 | 6 | 370 | 1 |" in text
    assert "success 1,200, cancel 800" in text
    assert "1 of them less than 100 times: kill-before-hook.linger 70." in text
    assert "other" not in text


def test_pieces_that_were_committed_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.chaos.piece.KEPT", tmp_path / "reports")
    (tmp_path / "reports").mkdir()
    for each in (piece(8, 1), piece(9, 1), piece(1, 7, commit="other")):
        (tmp_path / f"reports/{each['commit']}-{each['seed']}.json").write_text(json.dumps(each))
    out = kept(tmp_path, piece(9, 2), piece(10, 2))
    found = reports(out, "abc1234")
    assert [report["seed"] for report in found] == [8, 9, 10]
    assert found[1]["failpoints"]["kill-before-hook.linger"] == 2, "the same piece, driven again"


def test_pieces_of_other_mixes_have_seeds_of_their_own(tmp_path: Path) -> None:
    usual = piece(9, 30)
    del usual["mix"]  # so were the first ones written
    kept(tmp_path, usual, piece(9, 70) | {"mix": "nodes", "commit": "abc1234-nodes"})
    found = reports(tmp_path, "abc1234")
    assert [(report["mix"], report["seed"]) for report in found] == [("nodes", 9), ("usual", 9)]
    assert "less than" not in "\n".join(page(found))


def test_all_have_struck_often_enough() -> None:
    assert "less than" not in "\n".join(page([piece(1, 100)]))


def test_a_piece_that_did_not_end_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "abc1234-1").mkdir()
    monkeypatch.setattr("sys.argv", ["summary", str(tmp_path), "abc1234"])
    assert main() == 1
    assert "no report" in capsys.readouterr().out
