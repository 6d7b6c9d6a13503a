"""The docker engine: find it, install it, start it, and clear what a dead one left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from .commands import await_true, log_file, logged, output, say, succeeds
from .errors import StackError

_SOCKET = Path("/var/run/docker.sock")
_WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
_ENOUGH_WATCHES = 1024
_PID_FILES = (Path("/var/run/docker.pid"), Path("/run/docker/containerd/containerd.pid"))


def ensure_engine() -> None:
    """Have a docker engine that answers."""
    _allow_many_watches()
    began = time.monotonic()
    if answers():
        say("docker engine: already there, running")
        return
    way = "already there, started"
    if not (shutil.which("dockerd") and shutil.which("docker")):
        apt_install("docker engine", ["docker.io", "iptables", "ca-certificates"], wanted=["docker-cli"])
        way = "installed from the distribution's package docker.io and started"
    _start()
    say(f"docker engine: {way} ({time.monotonic() - began:.1f} s)")


def _allow_many_watches() -> None:
    """systemd, kubelets and the operator of all stacks share root's inotify instances; with none left the operator does
    not start, and `kubectl get -w` says nothing."""
    allowed = int(_WATCHES.read_text())
    if allowed >= _ENOUGH_WATCHES:
        return
    try:
        _WATCHES.write_text(str(_ENOUGH_WATCHES))
    except OSError:
        cure = f"sysctl fs.inotify.max_user_instances={_ENOUGH_WATCHES} allows more"
        say(f"inotify instances: {allowed}, enough for two stacks on this machine; {cure}")


def apt_install(name: str, packages: list[str], wanted: Sequence[str] = ()) -> None:
    """Install packages of the machine's own distribution, and those wanted that it has."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise StackError(f"{name} is missing", f"as root on Debian run apt-get install {' '.join(packages)}")
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    logged(
        name,
        ["apt-get", "update", "-q"],
        env=env,
        cure="the package lists can't be fetched, mend /etc/apt or the network",
    )
    packages = [*packages, *(p for p in wanted if "Candidate: " in apt_policy(p))]
    logged(
        name,
        ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages],
        env=env,
        cure=f"apt-get install {' '.join(packages)} must work on this machine",
    )


def apt_policy(package: str) -> str:
    """Return what apt knows about a package that can be installed, else nothing."""
    if not shutil.which("apt-cache"):
        return ""
    text = output(["apt-cache", "policy", package])
    return "" if "Candidate: (none)" in text else text


def answers() -> bool:
    """Tell whether an engine is there and runs."""
    return bool(shutil.which("docker")) and succeeds(["docker", "version"], timeout=10)


def restart_hung() -> None:
    """End an engine that has locked itself up and start it anew; its containers end with it."""
    pid = _PID_FILES[0].read_text().strip() if _PID_FILES[0].exists() else ""
    if os.environ.get("DOCKER_HOST") or not _is_engine(pid):
        raise StackError("the docker engine does not remove containers any more", "restart it and try again")
    say("docker engine: hangs, is started anew")
    os.kill(int(pid), signal.SIGKILL)
    await_true("dockerd did not end", lambda: not _is_engine(pid), 10, f"kill process {pid}")
    _start()


def _start() -> None:
    if os.environ.get("DOCKER_HOST"):
        raise StackError(
            f"no docker engine answers at {os.environ['DOCKER_HOST']}",
            "start it, or unset DOCKER_HOST to use one on this machine",
        )
    _clear_stale()
    if Path("/run/systemd/system").exists() and succeeds(["systemctl", "start", "docker"], timeout=90):
        pass
    else:
        with log_file("dockerd").open("ab") as log:
            subprocess.Popen(["dockerd"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    await_true("docker engine did not answer", answers, 60, f"read {log_file('dockerd')} for dockerd's own reason")


def _clear_stale() -> None:
    # A machine that was cut off keeps pid files whose numbers belong to nobody, or to
    # somebody else by now; dockerd refuses to start while it believes in them.
    for file in _PID_FILES:
        if file.exists() and not _is_engine(file.read_text().strip()):
            say(f"docker engine: removed the stale {file}")
            file.unlink()
    if _SOCKET.is_socket() and not _dockerd_runs():
        _SOCKET.unlink()


def _is_engine(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() in ("dockerd", "containerd")
    except OSError:
        return False


def _dockerd_runs() -> bool:
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text().strip() == "dockerd":
                return True
        except OSError:
            continue
    return False


def image_id(tag: str) -> str:
    """Return the id of a local image, or nothing."""
    if not succeeds(["docker", "image", "inspect", tag]):
        return ""
    return output(["docker", "image", "inspect", "--format", "{{.Id}}", tag]).strip()
