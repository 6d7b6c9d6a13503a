"""The guards in sh, with their fixed places moved by rewriting a copy: nothing else can move them."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.hook.stage import ROOT

RUNS = "/var/lib/slurm-k8s-bridge/runs"


class Guard:
    """A guard whose client only says with what it was started."""

    def __init__(self, place: Path, phase: str) -> None:
        self.runs = place / "runs"
        self.runs.mkdir()
        self.script = place / phase
        text = (ROOT / f"slurm/{phase}.d/50-slurm-k8s-bridge").read_text()
        assert RUNS in text
        self.script.write_text(text.replace(RUNS, str(self.runs)).replace("/usr/bin/python3", "/bin/echo"))
        self.script.chmod(0o755)

    def __call__(self, **env: str) -> str:
        done = subprocess.run([self.script], env=env, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.replace("-I -S /usr/lib/slurm-k8s-bridge/bridge/hook/__main__.py ", "").strip()


@pytest.mark.parametrize(
    ("env", "client"),
    [
        ({}, ""),
        ({"SLURM_JOB_COMMENT": "nothing", "SLURM_JOB_EXTRA": "k8s"}, ""),
        ({"SLURM_JOB_COMMENT": "k8s: 2/2 pods ready"}, ""),
        ({"SLURM_JOB_COMMENT": "a k8s=x b"}, "prolog"),
        ({"SLURM_JOB_EXTRA": "k8s=x"}, "prolog"),
        ({"SLURM_JOB_COMMENT": "$(exit 3) `false` * ' \" k8s=x"}, "prolog"),
        ({"SPANK_PATH": "k8s=x", "SLURM_JOB_WORK_DIR": "/k8s=x"}, ""),
    ],
)
def test_prolog(tmp_path: Path, env: dict[str, str], client: str) -> None:
    guard = Guard(tmp_path, "prolog")
    (guard.runs / ".9").touch()
    assert guard(SLURM_JOB_ID="7", **env) == client
    (guard.runs / "9").touch()
    assert guard(SLURM_JOB_ID="7", **env) == "prolog"


def test_epilog(tmp_path: Path) -> None:
    guard = Guard(tmp_path, "epilog")
    (guard.runs / "9").touch()
    assert guard(SLURM_JOB_ID="7", SLURM_JOB_COMMENT="k8s=x") == ""
    assert guard(SLURM_JOB_ID="9") == "epilog"
    assert guard() == "epilog", "without a number only the client can tell"


def test_neither_needs_the_directory(tmp_path: Path) -> None:
    for phase in ("prolog", "epilog"):
        (tmp_path / phase).with_suffix(".d").mkdir()
        guard = Guard((tmp_path / phase).with_suffix(".d"), phase)
        guard.runs.rmdir()
        assert guard(SLURM_JOB_ID="7") == ""


@pytest.mark.parametrize("phase", ["prolog", "epilog"])
def test_no_program_is_started_before_the_decision(phase: str) -> None:
    path = ROOT / f"slurm/{phase}.d/50-slurm-k8s-bridge"
    assert os.access(path, os.X_OK)
    code = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert code[-1].startswith("exec /usr/bin/python3 -I -S /usr/lib/slurm-k8s-bridge/")
    assert not [line for line in code[:-1] if "$(" in line or "`" in line or "|" in line.replace("||", "")]
