"""Who may have the stack for chaos, and as what."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.chaos import taking
from tests.chaos.taking import taken
from tests.integration import stack as integration

# Stands in for tests/stack/stack: a folder is all that there is of it. It is never healthy before it is up.
_STACK = """#!/bin/bash
folder={folder}
echo "$@" >>{told}
case $1 in
up) mkdir -p $folder ;;
down) rm -r $folder ;;
status) [ -d $folder ] && cat {description} && [ -e $folder/healthy ] ;;
esac
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the stack's program was told."""
    told, folder, program = tmp_path / "told", tmp_path / "run", tmp_path / "stack"
    description = {"run_dir": str(folder), "namespace": "jobs", "nodes": [], "images": {}}
    (tmp_path / "description").write_text(json.dumps(description))
    program.write_text(_STACK.format(folder=folder, told=told, description=tmp_path / "description"))
    program.chmod(0o755)
    monkeypatch.setattr(taking, "STACK", program)
    monkeypatch.setattr(integration.Stack, "describe", lambda: description)
    return told


def commands(told: Path) -> list[str]:
    return [line for line in told.read_text().splitlines() if not line.startswith("status")]


@pytest.mark.parametrize("leaves", [None, SystemExit, KeyboardInterrupt])
def test_the_next_one_has_the_stack_as_it_is(told: Path, leaves: type[BaseException] | None) -> None:
    with nullcontext() if leaves is None else pytest.raises(leaves), taken():
        if leaves:
            raise leaves
    with taken() as stack:
        assert stack.namespace == "jobs"
    assert commands(told) == ["up", "up"]


def test_behind_one_that_was_killed_at_its_work_the_stack_is_made_anew(
    told: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MemoryError), taken():
        raise MemoryError  # of what nobody expects there remains what remains of a kill: the mark, and no lock
    for _ in range(2):
        with taken():
            pass
    assert commands(told) == ["up", "down", "up", "up"]
    assert "the stack is made anew" in capfd.readouterr().err


def test_nobody_has_the_stack_beside_another(told: Path) -> None:
    with taken():
        for _ in range(2):
            with pytest.raises(SystemExit, match=f"another chaos is at work.*: kill {os.getpid()}$"), taken():
                pytest.fail("both have it")
    assert commands(told) == ["up"], "and it is left alone"
