"""bridged of imitated nodes, on this machine: each in a process of its own, or all in one.

    python -m tests.bench.daemons each|together FOLDER NODE...

FOLDER/NODE has each node's bridge.toml; its sockets are made there. All else is as `bridge/daemon.py` wires it.
Under `-X tracemalloc`, SIGUSR1 has a process write to the file $TRACED what its memory was taken for.
"""

import gc
import json
import os
import resource
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


def main() -> int:
    """Until SIGTERM."""
    how, folder, nodes = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    logs.configure("info")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    if how == "each":
        return _each(folder, nodes)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    threading.stack_size(_STACK)
    with mock.patch("signal.signal"):  # only the main thread may; it waits for all of them
        for each in [_daemon(folder / node, node) for node in nodes]:
            threading.Thread(target=each.run, daemon=True).start()
        signal.sigwait({signal.SIGTERM})
    os._exit(0)


def _each(folder: Path, nodes: Sequence[str]) -> int:
    """Children of this process, which has nothing but the libraries: sixty-four times their import would be a minute of
    a processor."""
    gc.freeze()
    children = []
    for node in nodes:
        child = os.fork()
        if not child:
            os._exit(_alone(folder / node, node))
        children.append(child)
    signal.sigwait({signal.SIGTERM})
    for child in children:
        os.kill(child, signal.SIGTERM)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


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


def _daemon(folder: Path, node: str) -> daemon.Daemon:
    def own(name: str, _path: Path, mode: int) -> socket.socket:
        return listener(name, folder / f"{name}.sock", mode)

    with mock.patch.object(daemon, "listener", own), mock.patch("socket.gethostname", lambda: node):
        return daemon.Daemon(load(folder / "bridge.toml"))


if __name__ == "__main__":
    sys.exit(main())
