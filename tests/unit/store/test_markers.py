"""The markers as the daemon reads them: what root's hooks have written."""

from pathlib import Path
from unittest.mock import create_autospec

import pytest

from bridge.errors import ConfigError
from bridge.hook import markers
from bridge.store.markers import Marker, all_there, marker, may_name


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ({"restart": 2, "start": 1_700_000_000, "uid": 2001, "gpus": True}, Marker(2, 1_700_000_000, 2001, gpus=True)),
        ({"restart": 2, "start": 5, "uid": 2001, "gpus": False}, Marker(2, 5, 2001, gpus=False)),
        ({"restart": 2, "start": 5, "uid": 2001, "end": 65}, Marker(2, 5, 2001, end=65)),
        ({"restart": 2, "start": 5, "uid": 2001, "end": "soon"}, Marker(2, 5, 2001)),
        ({"restart": 2, "start": 5, "uid": 2001, "began": 1.5}, Marker(2, 5, 2001, began=1.5)),
        ({"restart": 2, "start": 5, "uid": 2001, "began": "1.5"}, Marker(2, 5, 2001)),
        ({"restart": 2, "start": 5, "uid": 2001}, Marker(2, 5, 2001, gpus=True)),
        ({"restart": 0, "start": None, "uid": None}, Marker(0, 0, None)),
        ({"restart": 2, "start": 5, "uid": "2001"}, Marker(2, 5, None)),
        ({"restart": "0", "start": 5}, None),
    ],
)
def test_what_the_hook_wrote_is_read(tmp_path: Path, content: dict[str, object], read: Marker | None) -> None:
    directory = tmp_path / "runs"
    markers.write(str(directory), 7, content)
    assert marker(directory, 7) == read
    assert marker(directory, 8) is None


def test_all_are_told_and_a_damaged_one_as_such(tmp_path: Path) -> None:
    directory = tmp_path / "runs"
    assert all_there(directory) == {}
    markers.write(str(directory), 7, {"restart": 1, "start": 5, "uid": 1, "gpus": False})
    (directory / "8").write_text("{")
    assert all_there(directory) == {7: Marker(1, 5, 1, gpus=False), 8: None}
    with pytest.raises(ConfigError, match="cannot read the run markers"):
        all_there(directory / "8")


def test_one_that_a_hook_removes_meanwhile_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "runs"
    markers.write(str(directory), 7, {"restart": 1, "start": 5, "uid": 1})
    monkeypatch.setattr(markers, "present", create_autospec(markers.present, return_value=[7, 8]))
    assert all_there(directory) == {7: Marker(1, 5, 1)}


def test_a_missing_directory_has_no_marker_and_an_unreadable_one_is_said(tmp_path: Path) -> None:
    assert marker(tmp_path / "none", 7) is None
    (tmp_path / "7").mkdir()
    with pytest.raises(ConfigError, match="the run marker cannot be read"):
        marker(tmp_path, 7)


def test_a_marker_that_cannot_be_read_may_name_any_run(tmp_path: Path) -> None:
    markers.write(str(tmp_path / "runs"), 7, {"restart": 2, "start": 5})
    (tmp_path / "runs" / "8").mkdir()
    named = {(job, run): may_name(tmp_path / "runs", job, run) for job in (7, 8, 9) for run in (None, (2, 5), (1, 5))}
    assert [key for key, may in named.items() if may] == [(7, None), (7, (2, 5)), (8, None), (8, (2, 5)), (8, (1, 5))]
