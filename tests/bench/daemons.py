"""bridged of imitated nodes, on this machine: one in a process of its own, or many in one.

    python -m tests.bench.daemons FOLDER NODE...

FOLDER/NODE has each node's bridge.toml; its sockets are made there. All else is as `bridge/daemon.py` wires it.
"""

import os
import resource
import signal
import socket
import sys
import threading
from pathlib import Path
from unittest import mock

from bridge import daemon, logs
from bridge.config import load
from bridge.wire.server import listener

_STACK = 512 * 1024  # bytes of a thread's stack, of which a thousand nodes have many


def main() -> int:
    """Until SIGTERM."""
    folder, nodes = Path(sys.argv[1]), sys.argv[2:]
    logs.configure("info")
    if len(nodes) == 1:
        return _daemon(folder / nodes[0], nodes[0]).run()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.stack_size(_STACK)
    with mock.patch("signal.signal"):  # only the main thread may; it waits for all of them
        for each in [_daemon(folder / node, node) for node in nodes]:
            threading.Thread(target=each.run, daemon=True).start()
        signal.sigwait({signal.SIGTERM})
    os._exit(0)


def _daemon(folder: Path, node: str) -> daemon.Daemon:
    def own(name: str, _path: Path, mode: int) -> socket.socket:
        return listener(name, folder / f"{name}.sock", mode)

    with mock.patch.object(daemon, "listener", own), mock.patch("socket.gethostname", lambda: node):
        return daemon.Daemon(load(folder / "bridge.toml"))


if __name__ == "__main__":
    sys.exit(main())
