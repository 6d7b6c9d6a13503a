"""When a file system counts as full; statvfs answers as given."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from bridge.disks import Disks

GIB = 1 << 30


def seen(monkeypatch: pytest.MonkeyPatch, **fields: int) -> str:
    """The complaint about a disk of 100 GiB and a million inodes, all free but for these fields."""
    answer = {"f_frsize": 4096, "f_blocks": 100 * GIB // 4096, "f_bfree": 100 * GIB // 4096}
    answer |= {"f_files": 1_000_000, "f_ffree": 1_000_000, **fields}
    monkeypatch.setattr(os, "statvfs", lambda _directory: SimpleNamespace(**answer))
    return Disks(["/images"]).complaint()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"f_bfree": GIB // 4096}, ""),
        ({"f_bfree": GIB // 4096 - 1}, "/images has 1023 MiB free of 102400"),
        ({"f_bfree": 0}, "/images has 0 MiB free of 102400"),
        ({"f_blocks": 1000, "f_bfree": 10}, ""),
        ({"f_blocks": 1000, "f_bfree": 9}, "/images has 0 MiB free of 3"),
        ({"f_ffree": 10_000}, ""),
        ({"f_ffree": 9_999}, "/images has 9999 inodes free of 1000000"),
        ({"f_files": 0, "f_ffree": 0}, ""),
        ({"f_blocks": 0, "f_bfree": 0}, ""),
    ],
)
def test_full_is_under_a_hundredth_and_little_in_all(
    monkeypatch: pytest.MonkeyPatch, fields: dict[str, int], words: str
) -> None:
    assert seen(monkeypatch, **fields) == words


def test_a_directory_that_is_not_there_is_passed_over(tmp_path: Path) -> None:
    assert Disks([str(tmp_path / "none")]).complaint() == ""


def test_a_real_directory_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = os.statvfs
    monkeypatch.setattr(os, "statvfs", lambda directory: asked.append(directory) or real(directory))  # type: ignore[func-returns-value]
    Disks([str(tmp_path)]).complaint()
    assert asked == [str(tmp_path)]
