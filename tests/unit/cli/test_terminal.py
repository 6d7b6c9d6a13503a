"""bridgectl as a person and a pipe meet it: colour on terminals alone, quiet when the reader goes, 130 for Ctrl-C."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .golden import HERE, SITE
from .login import Login

_MAIN = [sys.executable, "-c", "import sys; from bridge.cli.main import main; sys.exit(main())"]
_CHECK = [*_MAIN, "check", "--user=nobody", str(HERE / "container-job.job.yaml"), *SITE]


def on_a_terminal(words: list[str], **variables: str) -> str:
    """What a terminal gets of it."""
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, "TERM": "xterm", **variables}
        subprocess.run(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, timeout=60, check=False)
        return os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.fixture
def refused(tmp_path: Path) -> list[str]:
    """A check that refuses."""
    (tmp_path / "job.yaml").write_text((HERE / "container-job.job.yaml").read_text() + "privileged: true\n")
    return [*_MAIN, "check", "--user=nobody", str(tmp_path / "job.yaml"), *SITE]


def test_colour_is_for_terminals(refused: list[str]) -> None:
    assert on_a_terminal(refused).startswith("\x1b[31mrefused\x1b[0m: privileged")
    piped = subprocess.run(refused, capture_output=True, text=True, check=False)
    assert piped.returncode == 1 and piped.stderr.startswith("refused: privileged")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_and_only_for_those_that_want_it(refused: list[str], variables: dict[str, str]) -> None:
    assert on_a_terminal(refused, **variables).startswith("refused: privileged")


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        [*_MAIN, "explain", "--table"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


def test_ctrl_c_is_130_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = Login(tmp_path, monkeypatch)
    (login.home / ".kube").mkdir()
    (login.home / ".kube" / "config").touch()
    os.mkfifo(login.home / "asked")
    login.has("kubectl", f"echo >{login.home}/asked; exec sleep 60")
    with subprocess.Popen(_CHECK, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        (login.home / "asked").read_text()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
