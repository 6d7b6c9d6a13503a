"""The signals that Slurm sends to a batch script, and so to its `bridgectl attach`.

SIGTERM (scancel, time limit, preemption) ends the workload at once, and attach when the ranks have said their last.
Those of `FORWARDED` (sbatch --signal=B:USR1@60, scancel --batch --signal=USR1) go to the processes of all ranks, by a
step of the job. Nothing here holds up the reading of the output, and nothing can keep attach from its end: SIGKILL
comes `KillWait` after SIGTERM.
"""

import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from bridge import wellknown
from bridge.cli import forward
from bridge.errors import BridgeError
from bridge.messages import bridgectl as messages
from bridge.wire.client import DaemonGone, ask_once

FORWARDED = (
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGALRM,
    signal.SIGURG,
)
DRAIN = 25.0  # seconds from SIGTERM to the end of attach: less than Slurm's KillWait, 30 s by default
_TAKEN = 5.0  # seconds in which the daemon must have taken the order to end the run
_RETRY = 0.2


class Signals:
    """From enter to exit every signal is noticed at once, whatever the main thread is at."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        """``run``: its job and restart, as the daemon is asked for it."""
        self._run = run
        self._terminated = False
        self._taken = threading.Event()  # the daemon ends the run
        self._forwards: queue.Queue[signal.Signals] = queue.Queue()
        self._woken, self._wake = socket.socketpair()

    def __enter__(self) -> Self:
        if not _has_terminal():  # of a person, whose Ctrl-C is meant for attach alone
            self._wake.setblocking(False)
            signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
            for number in (signal.SIGTERM, *FORWARDED):
                signal.signal(number, lambda *_: None)
            threading.Thread(target=self._notice, name="signals", daemon=True).start()
            threading.Thread(target=self._forward, name="forward", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.set_wakeup_fd(-1)

    def exit_code(self, code: int) -> int:
        """What attach exits with, when this is the training's exit code."""
        return wellknown.EXIT_TERMINATED if self._terminated else code

    def _notice(self) -> None:
        while True:
            for byte in self._woken.recv(64):
                if byte == signal.SIGTERM:
                    self._terminate()
                elif byte in FORWARDED and byte not in self._forwards.queue:
                    self._forwards.put(signal.Signals(byte))  # as in the kernel, one that waits stands for all alike

    def _terminate(self) -> None:
        if self._terminated:
            return  # the time that is left began with the first one
        self._terminated = True
        threading.Thread(target=self._order, name="order", daemon=True).start()
        threading.Thread(target=self._leave_in_time, name="leave", daemon=True).start()

    def _order(self) -> None:
        """The daemon ends the run; where it does not, the job's epilog will, which begins when attach has ended."""
        while not self._taken.is_set():
            try:
                ask_once({"verb": "stop", **self._run})
                self._taken.set()
            except DaemonGone:
                time.sleep(_RETRY)
            except BridgeError as error:
                _leave(messages.STOP_REFUSED.sentence(said=error))

    def _leave_in_time(self) -> None:
        end = time.monotonic() + DRAIN
        if not self._taken.wait(_TAKEN):
            _leave(messages.STOP_UNHEARD.sentence(seconds=f"{_TAKEN:.0f}"))
        time.sleep(max(0.0, end - time.monotonic()))
        _leave(messages.DRAIN_LATE.sentence(seconds=f"{DRAIN:.0f}"))

    def _forward(self) -> None:
        while True:
            number = self._forwards.get()
            try:
                _say(forward.signalled(self._run["job"], number))
            except BridgeError as error:
                _say(messages.SIGNAL_LOST.sentence(signal=number.name, why=error))


def _say(sentence: str) -> None:
    print(f"slurm-k8s-bridge: {sentence}", file=sys.stderr, flush=True)


def _leave(sentence: str) -> None:
    """Not through Python's streams: the main thread may be stuck in one of them."""
    os.write(sys.stderr.fileno(), f"slurm-k8s-bridge: {sentence}\n".encode())
    os._exit(wellknown.EXIT_TERMINATED)


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
