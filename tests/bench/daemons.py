"""bridged of imitated nodes, on this machine: each in a process of its own, or some in each.

    python -m tests.bench.daemons IN_ONE FOLDER NODE...

FOLDER/NODE has each node's bridge.toml; its sockets are made there. All else is as `bridge/daemon.py` wires it.
Under `-X tracemalloc`, SIGUSR1 has a process write to the file $TRACED what its memory was taken for.
"""

import gc
import json
import os
import signal
import socket
import sys
import threading
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from bridge import daemon, logs
from bridge.config import load
from bridge.wire.server import listener

_STACK = 512 * 1024  # bytes of a thread's stack, of which a thousand nodes have many

LAST = 19
"""Niceness of daemons that share a process."""
_SWITCH = 0.2  # seconds: each thread that waits for the interpreter wakes so often, and of some hundred many do


def main() -> int:
    """Until SIGTERM. All are children of this process, which has nothing but the libraries: sixty-four times their
    import would be a minute of a processor."""
    in_one, folder, nodes = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    logs.configure("info")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    gc.freeze()
    children = []
    for first in range(0, len(nodes), in_one):
        child = os.fork()
        if not child:
            own = nodes[first : first + in_one]
            os._exit(_alone(folder, own[0]) if in_one == 1 else _together(folder, own))
        children.append(child)
    signal.sigwait({signal.SIGTERM})
    for child in children:
        os.kill(child, signal.SIGTERM)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def _together(folder: Path, nodes: Sequence[str]) -> int:
    """Their engines, in threads of this process, and behind the servers: on a site those have processors of their own,
    while here each waits in one line with all of these."""
    os.nice(LAST)
    threading.stack_size(_STACK)
    sys.setswitchinterval(_SWITCH)
    with mock.patch("signal.signal"):  # only the main thread may; it waits for all of them
        for each in [_daemon(folder, node) for node in nodes]:
            threading.Thread(target=each.run, daemon=True).start()
        signal.sigwait({signal.SIGTERM})
    return 0


def _alone(folder: Path, node: str) -> int:
    if node != sys.argv[3]:
        tracemalloc.stop()  # rank 0 is enough, and the others are faster
    made = _daemon(folder, node)
    signal.signal(signal.SIGUSR1, lambda *_: _write_traces(Path(os.environ["TRACED"])))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return made.run()


def _write_traces(file: Path) -> None:
    """JSON of stacks, the outermost line first, with bytes; the import machinery between them says nothing."""
    found = []
    for statistic in tracemalloc.take_snapshot().statistics("traceback"):
        lines = [f"{frame.filename}:{frame.lineno}" for frame in statistic.traceback]
        found.append(([line for line in lines if not line.startswith("<frozen")], statistic.size))
    new = file.with_suffix(".new")
    new.write_text(json.dumps(found), encoding="utf-8")
    new.replace(file)


def _daemon(parent: Path, node: str) -> daemon.Daemon:
    folder = parent / node

    def own(name: str, _path: Path, mode: int) -> socket.socket:
        return listener(name, folder / f"{name}.sock", mode)

    with mock.patch.object(daemon, "listener", own), mock.patch("socket.gethostname", lambda: node):
        return daemon.Daemon(load(folder / "bridge.toml"))


if __name__ == "__main__":
    sys.exit(main())
