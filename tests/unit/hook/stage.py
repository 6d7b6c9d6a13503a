"""A hook as a real process, as slurmd starts it, and the test as the daemon at the other end.

Only the places and the patience differ from the installed hook, and they go in by the one way that
exists: arguments of :func:`bridge.hook.client.run`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.wire.frames import Channel

ROOT = Path(__file__).resolve().parents[3]
ML = 2001

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: run as root")

_ENTRY = """
import json, os, sys
sys.path.insert(0, sys.argv[2])
%s
from bridge.hook import client, paths
places, patience = (json.loads(text) for text in sys.argv[3:])
os._exit(client.run(sys.argv[1], os.environb, paths.Paths(**places), paths.Patience(**patience)))
"""


class Chat:
    """One connection of the hook."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(5)
        self._channel = Channel(sock)

    def hears(self) -> dict[str, Any]:
        message = self._channel.receive()
        assert message is not None, "the hook hung up"
        return message

    def says(self, kind: str, **fields: object) -> None:
        self._channel.send({"kind": kind, **fields})

    def sees_the_end(self) -> bool:
        return self._channel.receive() is None

    def hangs_up(self) -> None:
        self._channel.close()


class Hook:
    """The hook's process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def goes_on(self, seconds: float) -> None:
        """For so long at least: it is looked at all the time."""
        with pytest.raises(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def ends(self) -> tuple[int, str]:
        """Exit code and what it printed."""
        out, err = self.process.communicate(timeout=5)
        assert err == b"", err.decode()
        return self.process.returncode, out.decode()


class Stage:
    """A node's directories and its socket."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.markers = root / "runs"
        self.socket = root / "hook.sock"
        self.home = root / "home"
        self.home.mkdir()
        self.proc = Path("/proc")
        self.config = root / "bridge.toml"
        self.config.touch()
        os.chown(self.home, ML, ML)
        self._listener: socket.socket | None = None
        self._hooks: list[Hook] = []
        self._before = ""
        self._chats: list[Chat] = []

    def daemon_starts(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(5)
        self._listener.bind(str(self.socket))
        self._listener.listen()

    def daemon_dies(self) -> None:
        assert self._listener is not None
        self._listener.close()
        self.socket.unlink()
        self._listener = None

    def arms(self, failpoint: str) -> Path:
        """The hooks from now on; the file is there once it has struck, and then it strikes no more."""
        struck = self.root / "struck"
        self._before = f"from tests.failpoints import hooks\nhooks.arm([{failpoint!r}], {str(struck)!r})"
        return struck

    def accepts(self, seconds: float = 5) -> Chat:
        assert self._listener is not None
        self._listener.settimeout(seconds)
        self._chats.append(Chat(self._listener.accept()[0]))
        return self._chats[-1]

    def hook(self, phase: str, env: dict[str, str], through: str = 'exec "$@"', /, **patience: float) -> Hook:
        places = {"markers": str(self.markers), "socket": str(self.socket), "scontrol": str(self.scontrol)}
        places |= {"config": str(self.config), "proc": str(self.proc)}
        argv = [sys.executable, "-I", "-S", "-c", _ENTRY % self._before, phase, str(ROOT), json.dumps(places)]
        argv.append(json.dumps({"prolog": 5, "foreign": 5, "epilog": 5, "last_word": 5, **patience}))
        argv = ["/bin/sh", "-c", through, "sh", *argv]
        process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
        self._hooks.append(Hook(process))
        return self._hooks[-1]

    @property
    def scontrol(self) -> Path:
        return self.root / "scontrol"

    def scontrol_says(self, script: str) -> None:
        self.scontrol.write_text("#!/bin/sh\n" + script + "\n")
        self.scontrol.chmod(0o755)

    def job(self, bridge: bool = True, /, **more: str) -> dict[str, str]:
        """The environment of a prolog on the first of two nodes."""
        env = {
            "SLURM_JOB_ID": "7",
            "SLURM_JOB_UID": str(ML),
            "SLURM_JOB_GID": str(ML),
            "SLURM_JOB_USER": "ml",
            "SLURM_CLUSTER_NAME": "test",
            "SLURM_JOB_WORK_DIR": str(self.home),
            "SLURM_JOB_NODELIST": "n[1-2]",
            "SLURMD_NODENAME": "n1",
            "SLURM_JOB_START_TIME": "1700000000",
        }
        if bridge:
            env["SLURM_JOB_COMMENT"] = "my own words, k8s=train.yaml"
        return {**env, **more}

    def spec(self, text: str = "kind: ContainerJob\n", mode: int = 0o600) -> Path:
        path = self.home / "train.yaml"
        path.write_text(text)
        os.chown(path, ML, ML)
        path.chmod(mode)
        return path

    def marked(self) -> list[str]:
        return sorted(path.name for path in self.markers.iterdir()) if self.markers.exists() else []

    def ends(self) -> None:
        for hook in self._hooks:
            if hook.process.poll() is None:
                hook.process.send_signal(signal.SIGKILL)
                hook.process.communicate()
        for chat in self._chats:
            chat.hangs_up()
        if self._listener is not None:
            self._listener.close()


def play(root: Path) -> Iterator[Stage]:
    root.chmod(0o755)
    stage = Stage(root)
    yield stage
    stage.ends()
