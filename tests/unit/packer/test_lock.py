"""packaging/requirements.lock: what it pins, and that it is what setup.cfg asks for."""

import pytest

from packer import lock, source, trim
from packer.errors import PackerError
from packer.targets import ARCHITECTURES, TARGETS

_HASH = "0" * 64


def test_it_is_in_step_with_setup_cfg() -> None:
    pins = lock.read(source.LOCK.read_text())
    asked = dict(line.split("==") for line in source.requirements())
    assert asked
    assert {name: pins[lock.project(name)].version for name in asked} == asked


def test_what_is_left_out_is_not_locked() -> None:
    assert set(lock.read(source.LOCK.read_text())) & trim.PROJECTS == set()


def test_compiled_projects_have_a_hash_for_each_python_and_machine() -> None:
    pins = lock.read(source.LOCK.read_text())
    each = len({target.python for target in TARGETS}) * len(ARCHITECTURES)
    assert {len(pins[name].hashes) for name in ("pydantic-core", "pyyaml")} == {each}


def test_it_reads_what_it_writes() -> None:
    text = source.LOCK.read_text()
    assert lock.written(lock.read(text).values()) == text


def test_a_name_is_written_as_the_index_has_it() -> None:
    assert list(lock.read(f"Typing_Extensions==4 --hash=sha256:{_HASH}")) == ["typing-extensions"]


@pytest.mark.parametrize("line", ["httpx", f"httpx --hash=sha256:{_HASH}", "httpx==1", "httpx==1 --hash=md5:00"])
def test_a_line_without_version_or_hash_is_refused(line: str) -> None:
    with pytest.raises(PackerError, match="make lock"):
        lock.read(line)
