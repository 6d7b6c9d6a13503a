"""One version string, whoever is asked."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge import __version__, daemon
from bridge.cli import main as bridgectl

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "main"), [("bridged", daemon.main), ("bridgectl", bridgectl.main)])
def test_daemon_and_command_line(
    name: str, main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{name} {__version__}\n"


def test_the_hook_and_nothing_else_happens() -> None:
    argv = [sys.executable, "-I", "-S", str(ROOT / "bridge/hook/__main__.py"), "--version"]
    done = subprocess.run(argv, env={"SLURM_JOB_ID": "7"}, capture_output=True, text=True, check=True, timeout=30)
    assert (done.stdout, done.stderr) == (f"slurm-k8s-bridge-hook {__version__}\n", "")
