"""Starts the hook's client in turn with other programs: JSON of seconds by name, for the client until its first byte is
at the daemon, for the others until they have ended.

    first_byte.py REPETITIONS PROGRAM CLIENTS OTHERS FOLDER

PROGRAM is the client's, for a daemon that listens in FOLDER, which is made for it. CLIENTS is JSON, an environment by
name; OTHERS an argument vector by name. The daemon is this program: it lets every prolog go at once.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import time
from pathlib import Path

LIBRARY = "/usr/lib/slurm-k8s-bridge"
sys.path.insert(0, LIBRARY)
from bridge.wire import frames  # noqa: E402


def first_byte(listener: socket.socket, program: str, environment: dict[str, str]) -> float:
    """Seconds from the client's start."""
    began = time.perf_counter()
    words = ["/usr/bin/python3", "-I", "-S", "-c", program]
    child = os.posix_spawn(words[0], words, environment)
    connection, _ = listener.accept()
    connection.recv(1, socket.MSG_PEEK)
    took = time.perf_counter() - began
    let_go(connection)
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"the hook's client ended with status {status}")
    return took


def let_go(connection: socket.socket) -> None:
    """The daemon's answer."""
    channel = frames.Channel(connection)
    channel.receive()
    channel.send({"kind": "answer", "exit": 0})
    channel.close()


def until_end(command: list[str]) -> float:
    """Seconds from a program's start to its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, {}, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
    os.waitpid(child, 0)
    os.close(null)
    return time.perf_counter() - began


def main() -> None:
    """All of them in turn, again and again."""
    program, clients, others = sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
    folder = Path(sys.argv[5])
    took: dict[str, list[float]] = {name: [] for name in (*clients, *others)}
    (folder / "runs").mkdir(parents=True)
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(folder / "hook.sock"))
        listener.listen(1)
        for _ in range(int(sys.argv[1])):
            for name, environment in clients.items():
                took[name].append(first_byte(listener, program, environment))
            for name, command in others.items():
                took[name].append(until_end(command))
    finally:
        shutil.rmtree(folder)
    print(json.dumps(took))


if __name__ == "__main__":
    main()
