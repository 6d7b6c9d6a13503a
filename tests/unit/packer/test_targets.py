"""What is packed, for which systems."""

import zipfile
from pathlib import Path

import pytest

from packer import source, trim, wheels
from packer.errors import PackerError
from packer.targets import architecture, targets


def test_a_target_is_asked_for_by_its_name() -> None:
    assert [target.name for target in targets("deb", ["trixie"])] == ["trixie"]
    assert [target.name for target in targets("rpm", [])] == ["el8", "el9", "el10"]
    with pytest.raises(PackerError, match="there is no deb for el9; TARGETS takes bookworm"):
        targets("deb", ["el9"])


def test_a_machine_is_known_by_either_name() -> None:
    assert architecture("arm64") is architecture("aarch64")
    with pytest.raises(PackerError, match="ARCH takes x86_64 and aarch64"):
        architecture("riscv64")


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        ("kubernetes/client/api/core_v1_api.py", True),
        ("kubernetes/client/models/__init__.py", False),
        ("kubernetes/aio/client/rest.py", True),
        ("kubernetes/client/rest.py", False),
        ("kubernetes/dynamic/test_client.py", True),
        ("pydantic/main.py", False),
    ],
)
def test_what_is_left_out(path: str, left_out: bool) -> None:
    assert trim.is_left_out(path) is left_out


def test_a_wheel_that_the_lock_does_not_know_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "httpx-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("httpx-0.dist-info/METADATA", "Name: httpx\nVersion: 0\n")
        archive.writestr("httpx-0.dist-info/RECORD", "")
    with pytest.raises(PackerError, match="the wheel of httpx is not the locked one"):
        wheels.unpack([wheel], tmp_path / "site")


def test_a_package_is_of_the_time_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert source.epoch() == 1700000000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(PackerError, match="set SOURCE_DATE_EPOCH"):
        source.epoch()
