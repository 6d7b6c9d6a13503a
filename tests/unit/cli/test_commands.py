"""What bridgectl asks other programs, and how it ends them."""

import subprocess
from typing import Any
from unittest.mock import Mock

import pytest

from bridge import commands


def test_ctrl_c_that_comes_before_a_word_is_read_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *words: Any, **how: Any) -> None:
            super().__init__(*words, **how)
            assert self.stdin is not None
            monkeypatch.setattr(self.stdin, "flush", Mock(side_effect=[KeyboardInterrupt, None]))
            begun.append(self)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        commands.run(["sleep", "60"], 60.0)
    (process,) = begun
    assert process.returncode is not None
