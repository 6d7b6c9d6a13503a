"""Which processes of a pod a signal goes to: those that are prepared for it, and no others."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridge.cli.processes import Sent, send
from tests.unit.engine.node import eventually

_POD = "0d9b1f7a-9f0e-4f43-8d9d-7f6c3f1f0a11"
_LIVES = "import os, signal, sys, threading; {setup}; print('ready', flush=True); {then}"
_HANDLES = "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))"
_BLOCKS = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])"
_IGNORES = "signal.signal(signal.SIGUSR1, signal.SIG_IGN)"
_AWAITS = "signal.sigwait([signal.SIGUSR1]) and os._exit(7)"
# Until it is told that it has forked.
_A_WHILE = "sys.stdin.readline(); {no_more}; print('no more', flush=True); signal.pause()"
_BLOCKS_NO_MORE = _A_WHILE.format(no_more="signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])")
_HANDLES_NO_MORE = _A_WHILE.format(no_more="signal.signal(signal.SIGUSR1, signal.SIG_DFL)")


@contextmanager
def process(setup: str, then: str = "signal.pause()") -> Iterator["subprocess.Popen[str]"]:
    """A real process that has come so far."""
    words = [sys.executable, "-c", _LIVES.format(setup=setup, then=then)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as made:
        assert made.stdout is not None and made.stdout.readline() == "ready\n"
        try:
            yield made
        finally:
            made.kill()


def shown(root: Path, pid: int, cgroup: str, comm: str = "python") -> Path:
    """A /proc that shows this process in this cgroup."""
    there = root / str(pid)
    there.mkdir(parents=True)
    (there / "cgroup").write_text(f"4:memory:{cgroup}\n0::/\n")
    (there / "comm").write_text(f"{comm}\n")
    (there / "task").symlink_to(f"/proc/{pid}/task")
    return root


@pytest.mark.parametrize(
    "cgroup",
    [f"/kubepods/burstable/pod{_POD}/a1", f"/kubepods.slice/kubepods-pod{_POD.replace('-', '_')}.slice/cri-a1.scope"],
    ids=["cgroupfs", "systemd"],
)
def test_who_handles_it_has_it(tmp_path: Path, cgroup: str) -> None:
    with process(_HANDLES) as worker:
        assert send([_POD], signal.SIGUSR1, shown(tmp_path, worker.pid, cgroup)) == Sent(1, 1)
        assert worker.wait(10) == 7


def test_who_blocks_it_to_wait_for_it_has_it(tmp_path: Path) -> None:
    with process(_BLOCKS) as worker:
        assert send([_POD], signal.SIGUSR1, shown(tmp_path, worker.pid, f"/pod{_POD}/a1")) == Sent(1, 1)


def test_who_waits_for_it_beside_threads_that_block_it_has_it(tmp_path: Path) -> None:
    beside = f"threading.Thread(target=lambda: {_AWAITS}).start()"
    with process(f"{_BLOCKS}; {beside}") as worker:
        eventually(lambda: "do_sigtimedwait" in waits(worker.pid))
        assert send([_POD], signal.SIGUSR1, shown(tmp_path, worker.pid, f"/pod{_POD}/a1")) == Sent(1, 1)
        assert worker.wait(10) == 7


def test_an_init_that_would_pass_it_on_is_spared(tmp_path: Path) -> None:
    """As tini: a lone thread in sigwait."""
    with process("pass", _AWAITS) as init:
        eventually(lambda: "do_sigtimedwait" in waits(init.pid))
        assert send([_POD], signal.SIGUSR1, shown(tmp_path, init.pid, f"/pod{_POD}/a1")) == Sent(0, 1)


@pytest.mark.parametrize(
    ("setup", "then"),
    [(_BLOCKS, _BLOCKS_NO_MORE), (_HANDLES, _HANDLES_NO_MORE)],
    ids=["a-shell-in-a-fork", "a-child-before-its-exec"],
)
def test_who_is_prepared_for_the_length_of_a_fork_is_spared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setup: str, then: str
) -> None:
    with process(setup, then) as shell:
        assert shell.stdin is not None and shell.stdout is not None
        into, out = shell.stdin, shell.stdout

        def forked(_seconds: float) -> None:
            print(file=into, flush=True)
            assert out.readline() == "no more\n"

        monkeypatch.setattr("bridge.cli.processes.time.sleep", forked)
        assert send([_POD], signal.SIGUSR1, shown(tmp_path, shell.pid, f"/pod{_POD}/a1")) == Sent(0, 1)
        assert shell.poll() is None


@pytest.mark.parametrize("setup", ["pass", _IGNORES], ids=["would-end-by-it", "ignores-it"])
def test_who_is_not_prepared_is_spared(tmp_path: Path, setup: str) -> None:
    with process(setup) as launcher:
        assert send([_POD], signal.SIGUSR1, shown(tmp_path, launcher.pid, f"/pod{_POD}/a1")) == Sent(0, 1)


def test_other_pods_and_the_sandbox_are_spared(tmp_path: Path) -> None:
    with process(_HANDLES) as other, process(_HANDLES) as sandbox:
        shown(tmp_path, other.pid, "/kubepods/pod11111111-9f0e-4f43-8d9d-7f6c3f1f0a11/a1")
        shown(tmp_path, sandbox.pid, f"/kubepods/pod{_POD}/a0", comm="pause")
        assert send([_POD], signal.SIGUSR1, tmp_path) == Sent(0, 0)


def test_who_ends_or_is_somebody_elses_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "4711").mkdir()
    with process(_HANDLES) as worker:
        shown(tmp_path, worker.pid, f"/pod{_POD}/a1")
        for error in (ProcessLookupError, PermissionError):
            monkeypatch.setattr(os, "kill", raising(error))
            assert send([_POD], signal.SIGUSR1, tmp_path) == Sent(0, 1)
        monkeypatch.undo()


def raising(error: type[Exception]) -> object:
    def kill(pid: int, number: int) -> None:
        raise error(f"{os.getpid()} to {pid}: {number}")

    return kill


def waits(pid: int) -> str:
    """Where in the kernel its threads are."""
    return " ".join((thread / "wchan").read_text() for thread in Path(f"/proc/{pid}/task").iterdir())
