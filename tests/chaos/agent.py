"""A hand on a compute node: runs there by itself (`python3 -I -S -c`), is told by lines on its standard input what to
do, and tells by lines what has happened. When the input ends, so does all that it has made.

    start POD UID NAME  a process that stands for the pod's containers: in a cgroup that names the pod, as this user,
                    with a device file open and the node's lock in its hands; logs.py is told by a file of this name
    end POD         that process is killed
    kill            the node's bridged is killed (SIGKILL)
    lose            and loses its journal
    freeze SECONDS  and here stopped for so long
    arm NAMES       of these failpoints the first that daemon or hook comes to strikes (tests/failpoints)
    disarm          none does
"""

import contextlib
import fcntl
import json
import os
import selectors
import signal
import sys
import time

STAMPS = "/run/chaos-stamps"  # where the hooks write when they begin and end
FOLDER = "/run/chaos"  # where hooks read what is armed for them
DAEMONS = "/var/lib/slurm-k8s-bridge/journal"  # the same for the daemon: it writes nowhere else
_READY = f"{DAEMONS}/ready"
PODS = "/run/chaos-pods"  # of logs.py
LOCK = "/run/chaos-lock"
_DEVICE = "/dev/fakegpu0"
_DAEMON = b"/usr/sbin/bridged"
_TICK = 0.1  # seconds between two looks at the stamps
_V2 = "/sys/fs/cgroup"
_V1 = "/sys/fs/cgroup/freezer"


def _tell(event: str, **more: object) -> None:
    line = json.dumps({"event": event, "at": time.time(), **more})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Node:
    """The processes that this has made, by pod."""

    def __init__(self) -> None:
        self._made: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._groups = f"{_V1 if os.path.isdir(_V1) else _V2}/kubepods"
        self._thaw: list[tuple[float, int]] = []
        os.makedirs(PODS, exist_ok=True)
        self._stamps = open(STAMPS, "a+", encoding="ascii")  # noqa: SIM115
        self._stamps.seek(0, os.SEEK_END)
        self._part = ""

    def obey(self, words: list[str]) -> None:
        """One line."""
        match words:
            case ["start", pod, uid, name]:
                self._start(pod, int(uid))
                self._names[pod] = name
                _note(name, "w")
            case ["end", pod]:
                self._end(pod)
            case ["kill" | "lose" as how]:
                for pid in _daemons():
                    os.kill(pid, signal.SIGKILL)
                if how == "lose":  # systemd begins the next one a second later
                    _lose()
            case ["freeze", seconds]:
                for pid in _daemons():
                    os.kill(pid, signal.SIGSTOP)
                    self._thaw.append((time.monotonic() + float(seconds), pid))
            case ["arm", *names]:
                _arm(names)
            case ["disarm"]:
                disarm()
            case _:
                _tell("misunderstood", words=words)

    def look(self) -> None:
        """At what comes with time."""
        due = [each for each in self._thaw if each[0] <= time.monotonic()]
        for each in due:
            self._thaw.remove(each)
            _thaw(each[1])
        if any(os.path.exists(f"{place}/struck") for place in (FOLDER, DAEMONS)):
            disarm()
        _tell_of_a_daemon()
        lines = (self._part + self._stamps.read()).split("\n")
        self._part = lines.pop()
        for line in lines:
            _tell("stamp", line=line)

    def clear(self) -> None:
        """Nothing of it stays."""
        disarm()
        for pod in list(self._made):
            self._end(pod)
        for _, pid in self._thaw:
            _thaw(pid)

    def _start(self, pod: str, uid: int) -> None:
        group = f"{self._groups}/pod{pod}"
        os.makedirs(group, exist_ok=True)
        ears, mouth = os.pipe()
        child = os.fork()
        if not child:
            _be_the_pod(group, uid, mouth)
        os.close(mouth)
        said = os.read(ears, 16)
        os.close(ears)
        self._made[pod] = child
        _tell("began", pod=pod)
        if said == b"held":
            _tell("conflict", pod=pod)
        elif said != b"alone":
            _tell("misunderstood", words=["start", pod])  # it ended before it could look

    def _end(self, pod: str) -> None:
        child = self._made.pop(pod, None)
        if child is None:
            return
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        _tell("ended", pod=pod)
        _note(self._names.pop(pod), "a")
        with contextlib.suppress(OSError):  # it is empty, or somebody looks into it
            os.rmdir(f"{self._groups}/pod{pod}")


def _tell_of_a_daemon() -> None:
    """That is ready."""
    with contextlib.suppress(FileNotFoundError):
        at = os.stat(_READY).st_mtime
        os.unlink(_READY)
        _tell("ready", at=at)


def _lose() -> None:
    for name in os.listdir(DAEMONS):
        if name.startswith("journal."):
            os.unlink(f"{DAEMONS}/{name}")


def _remove(name: str) -> None:
    for place in (FOLDER, DAEMONS):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{place}/{name}")


def _arm(names: list[str]) -> None:
    disarm()
    for place in (FOLDER, DAEMONS):
        new = f"{place}/armed.new"
        with open(new, "w", encoding="ascii") as armed:
            armed.writelines(f"{name}\n" for name in names if ("-hook." in name) is (place == FOLDER))
        os.chmod(new, 0o644)
        os.rename(new, f"{place}/armed")


def disarm() -> None:
    """None strikes any more but one that has looked already. What has struck is told: one of the daemon's, one of the
    hooks', or both; and taken away first, for what strikes meanwhile is told the next time."""
    _remove("armed")
    for place in (FOLDER, DAEMONS):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{place}/struck", f"{place}/told")
            with open(f"{place}/told", encoding="ascii") as told:
                name, *whose = told.read().split()
                _tell("struck", name=name, at=os.fstat(told.fileno()).st_mtime, hook=whose)
    _remove("told")


def _note(name: str, mode: str) -> None:
    with open(f"{PODS}/{name}", mode, encoding="ascii") as file:
        file.write(f"{time.time()}\n")


def _be_the_pod(group: str, uid: int, mouth: int) -> None:
    """Never comes back."""
    try:
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as members:
            members.write(str(os.getpid()))
        lock = os.open(LOCK, os.O_CREAT | os.O_RDWR, 0o666)
        os.setuid(uid)
        os.open(_DEVICE, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(mouth, b"alone")
        except BlockingIOError:
            os.write(mouth, b"held")
        os.close(mouth)
        while True:
            signal.pause()
    finally:
        os._exit(1)


def _thaw(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _daemons() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _DAEMON in _command(name)]


def _command(pid: str) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def main() -> None:
    """Until the input ends."""
    node, rest = Node(), b""
    os.set_blocking(0, False)
    _tell("here")
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        while True:
            if selector.select(_TICK):
                data = os.read(0, 65536)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    node.obey(line.decode().split())
            node.look()
    node.clear()


if __name__ == "__main__":
    main()
