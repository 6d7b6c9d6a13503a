"""attach and the signals of its batch script: a process of its own, its daemon a script of frames on a socket."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bridge.wire.frames import Channel
from tests.unit.engine.node import eventually

Frame = dict[str, Any]

_PATIENCE = 30.0
_RUN = """
import sys
from bridge import wellknown
from bridge.cli import signals
wellknown.USER_SOCKET = {socket!r}
from bridge.wire import client
client.ask.__defaults__ = client.ask_once.__defaults__ = (client.Path({socket!r}), client.PATIENCE)
signals.DRAIN, signals._TAKEN = {drain}, {taken}
from bridge.cli.main import main
sys.exit(main(["attach"]))
"""


class Daemon:
    """Greets an attach, says one line, and keeps the connection; ``order`` answers the order to end the run."""

    def __init__(self, path: Path, order: Callable[["Daemon", Channel], None]) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._order = order
        self.orders: list[Frame] = []
        self.attached: Channel | None = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            channel = Channel(self._listener.accept()[0])
            asked = channel.receive()
            assert asked is not None
            if asked["verb"] == "attach":
                self.attached = channel
                channel.send({"kind": "attached", "ranks": 1, "notices": []})
                channel.send({"kind": "line", "rank": 0, "stamp": "2026", "data": "here\n"})
            else:
                self.orders.append(asked)
                self._order(self, channel)

    def floods(self) -> None:
        """Says more than anybody reads."""
        assert self.attached is not None
        with suppress(OSError):
            for _ in range(50):
                self.attached.send({"kind": "line", "rank": 0, "stamp": "2027", "data": "x" * 100_000})

    def ends(self, code: int) -> None:
        """The run is over."""
        assert self.attached is not None
        self.attached.send({"kind": "line", "rank": 0, "stamp": "2027", "data": "last words\n"})
        self.attached.send({"kind": "end", "exit": code, "reason": "ended"})


def takes(_daemon: Daemon, channel: Channel) -> None:
    channel.send({"kind": "stopping"})


def takes_and_ends(daemon: Daemon, channel: Channel) -> None:
    channel.send({"kind": "stopping"})
    daemon.ends(75)


def refuses(_daemon: Daemon, channel: Channel) -> None:
    channel.send({"kind": "error", "sentence": "the question is not understood"})


def is_silent(_daemon: Daemon, _channel: Channel) -> None:
    pass


class Attach:
    """The process, and the directory with its commands."""

    def __init__(self, root: Path, drain: float, taken: float) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        self._root = root
        self._drain, self._taken = drain, taken

    def has(self, command: str, script: str) -> None:
        path = self.bin / command
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[str]"]:
        """Until it has said its first line."""
        words = _RUN.format(socket=str(self._root / "s"), drain=self._drain, taken=self._taken)
        given = os.environ | {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "PATH": f"{self.bin}:/usr/bin:/bin"}
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        with subprocess.Popen(
            [sys.executable, "-c", words], env=given, stdin=nothing, stdout=pipe, stderr=pipe, text=True
        ) as made:
            try:
                assert made.stdout is not None and made.stdout.readline() == "here\n"
                yield made
            finally:
                made.kill()


@pytest.fixture
def attach(tmp_path: Path) -> Attach:
    return Attach(tmp_path, 60.0, 60.0)


def test_sigterm_ends_the_run_and_brings_what_it_says_last(tmp_path: Path, attach: Attach) -> None:
    daemon = Daemon(tmp_path / "s", takes_and_ends)
    with attach.running() as process:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=_PATIENCE)
    assert (process.returncode, said) == (143, ("last words\n", "slurm-k8s-bridge: ended\n"))
    assert [(order["verb"], order["job"], order["restart"]) for order in daemon.orders] == [("stop", 7, None)]


def test_a_second_one_changes_nothing(tmp_path: Path, attach: Attach) -> None:
    daemon = Daemon(tmp_path / "s", takes)
    with attach.running() as process:
        process.send_signal(signal.SIGTERM)
        eventually(lambda: daemon.orders)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        daemon.ends(75)
        assert process.wait(_PATIENCE) == 143
    assert len(daemon.orders) == 1


@pytest.mark.parametrize(
    ("order", "drain", "taken", "words"),
    [
        (takes, 0.5, 60.0, "the containers had not ended"),
        (is_silent, 60.0, 0.5, "has not taken the order to end the run"),
        (refuses, 60.0, 60.0, "does not end the run: the question is not understood"),
    ],
)
def test_it_leaves_in_time_whatever_the_daemon_does(
    tmp_path: Path, order: Callable[[Daemon, Channel], None], drain: float, taken: float, words: str
) -> None:
    Daemon(tmp_path / "s", order)
    with Attach(tmp_path, drain, min(drain, taken)).running() as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE) == 143
        assert process.stderr is not None and words in process.stderr.read()


def test_a_reader_that_takes_nothing_does_not_hold_it(tmp_path: Path) -> None:
    """A file system that hangs, say: the main thread is stuck in a write."""
    daemon = Daemon(tmp_path / "s", takes)
    with Attach(tmp_path, 0.5, 0.5).running() as process:
        threading.Thread(target=daemon.floods, daemon=True).start()
        eventually(lambda: _is_stuck(process.pid))
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE) == 143


def test_others_go_to_all_ranks_by_one_step(tmp_path: Path, attach: Attach) -> None:
    daemon = Daemon(tmp_path / "s", takes)
    attach.has(
        "srun", f'echo "$@" >>{tmp_path}/words; echo \'{{"signalled": 1, "processes": 3}}\'; cat {tmp_path}/more'
    )
    (tmp_path / "more").write_text('{"signalled": 2, "processes": 2}\n')
    with attach.running() as process:
        process.send_signal(signal.SIGUSR1)
        assert process.stderr is not None
        assert process.stderr.readline() == "slurm-k8s-bridge: SIGUSR1 was sent to 3 processes of the ranks\n"
        daemon.ends(0)
        assert process.wait(_PATIENCE) == 0
    (words,) = (tmp_path / "words").read_text().splitlines()
    step = words.split()
    assert {"--overlap", "--jobid=7", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--mem=0"} <= set(step)
    assert step[-6:] == ["/usr/bin/bridgectl", "signal", "7", "SIGUSR1", "-o", "json"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            "echo 'srun: error: Job 7 has expired' >&2; exit 1",
            "sent to nobody: srun: error: Job 7 has expired [signal-l",
        ),
        ('echo \'{"signalled": 1, "processes": 1}\'; echo no >&2; exit 1', "1 process of the ranks; only 1 of 2 nodes"),
        ('for n in 1 2; do echo \'{"signalled": 0, "processes": 2}\'; done', "none of the 4 processes of the ranks"),
    ],
)
def test_what_came_of_it_is_one_line(tmp_path: Path, attach: Attach, script: str, words: str) -> None:
    daemon = Daemon(tmp_path / "s", takes)
    attach.has("srun", script)
    with attach.running() as process:
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        said = process.stderr.readline()
        assert words in said and said.startswith("slurm-k8s-bridge: SIGHUP was sent to ")
        daemon.ends(3)
        assert process.wait(_PATIENCE) == 3


def test_a_step_that_hangs_holds_neither_output_nor_end(tmp_path: Path, attach: Attach) -> None:
    daemon = Daemon(tmp_path / "s", takes_and_ends)
    attach.has("srun", f"touch {tmp_path}/begun; exec sleep 60")
    with attach.running() as process:
        process.send_signal(signal.SIGUSR2)
        eventually((tmp_path / "begun").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE) == 143
    assert len(daemon.orders) == 1


def _is_stuck(pid: int) -> bool:
    return "pipe_write" in Path(f"/proc/{pid}/wchan").read_text()
