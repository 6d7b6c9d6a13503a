"""The daemon as systemd runs it on a compute node: what it could do, when it starts, and what becomes of one that hangs
or dies again and again."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .hostile import that_succeed
from .rows import await_training, in_training
from .specs import container_job
from .stack import NODES, Stack, eventually

_UNIT = "slurm-k8s-bridge.service"
_SOCKETS = ("slurm-k8s-bridge-hook.socket", "slurm-k8s-bridge-user.socket")
_EXPOSURE = 15  # tenths, of which systemd-analyze counts a hundred
_CONFIG = "/etc/slurm-k8s-bridge/bridge.toml"


@pytest.mark.parametrize("unit", [_UNIT, "slurm-k8s-bridge-renew.service"])
def test_it_is_exposed_to_little(running_stack: Stack, unit: str) -> None:
    script = f"systemd-analyze security --no-pager --threshold={_EXPOSURE} {unit}; echo $?"
    *said, code = running_stack.sh("compute1", script).splitlines()
    open_to = [line for line in said if not line.startswith(("✓", "  "))]
    assert code == "0", "\n".join(open_to)


# What each of its threads meets, asked in its own view of the machine and as itself.
_TRIES = {
    "homes": "ls /home/ml",
    "root's home": "ls /root",
    "a file of /etc": "touch /etc/skb",
    "a program": "touch /usr/bin/skb",
    "a run's marker": "touch /var/lib/slurm-k8s-bridge/runs/1",
    "Slurm's files": "touch /var/spool/slurmd/skb",
    "the machine's /tmp": "test -e /tmp/skb-seen",
    "a GPU": "test -e /dev/fakegpu0",
    "other processes": "test -e /proc/1/status",
    "a kernel's setting": "echo 1 > /proc/sys/kernel/pid_max",
    "cgroups": "mkdir /sys/fs/cgroup/pids/skb",
}


def test_the_running_one_sees_and_writes_next_to_nothing(running_stack: Stack) -> None:
    pid = running_stack.main_pid("compute1")
    view = f"nsenter --target {pid} --mount setpriv --reuid=slurm-k8s-bridge --regid=slurm-k8s-bridge --clear-groups"
    running_stack.sh("compute1", "touch /tmp/skb-seen")
    try:
        had = running_stack.sh("compute1", f"{view} sh -c 'touch /var/lib/slurm-k8s-bridge/journal/x && echo its own'")
        assert had == "its own\n"
        assert that_succeed(running_stack, "compute1", view, _TRIES) == []
    finally:
        running_stack.sh("compute1", "rm -f /tmp/skb-seen /var/lib/slurm-k8s-bridge/journal/x")
    assert status_of(running_stack, pid, "Seccomp") == "2"


def status_of(stack: Stack, pid: str, field: str) -> str:
    """A field of a process's status."""
    return stack.sh("compute1", f"awk '/^{field}:/ {{ print $2 }}' /proc/{pid}/status").strip()


@pytest.mark.parametrize("node", NODES)
def test_slurmd_comes_after_it_and_does_not_need_it(running_stack: Stack, node: str) -> None:
    told = {name: shown(running_stack, node, "slurmd", name).split() for name in ("After", "Requires", "BindsTo")}
    assert {_UNIT, _SOCKETS[0]} <= set(told["After"])
    assert _UNIT not in told["Requires"] + told["BindsTo"]


def shown(stack: Stack, node: str, unit: str, name: str) -> str:
    """A property of a unit."""
    return stack.exec(node, "systemctl", "show", "-p", name, "--value", unit).strip()


_HOOK_ASKS = """
import sys
sys.path.insert(0, "/usr/lib/slurm-k8s-bridge")
import socket
from bridge.wire.frames import Channel
sock = socket.socket(socket.AF_UNIX)
sock.connect("/run/slurm-k8s-bridge/hook.sock")
channel = Channel(sock)
channel.send({"v": 99})
print(channel.receive()["kind"])
"""


def test_either_socket_starts_it(stack: Stack) -> None:
    ask = {"hook": ("/usr/bin/python3", "-I", "-c", _HOOK_ASKS), "user": ("bridgectl", "status")}
    for name, words in ask.items():
        stack.exec("compute1", "systemctl", "stop", _UNIT)
        assert stack.main_pid("compute1") == "0"
        said = stack.exec("compute1", *words)
        assert ("mismatch" in said) if name == "hook" else ("compute1" in said), said
        assert stack.main_pid("compute1") != "0"


def test_one_that_hangs_is_started_anew_and_no_job_is_lost(stack: Stack) -> None:
    """The engine that does not turn while all else of it does is a unit test's; here all of it stands still."""
    pid, here = stack.main_pid("compute1"), ("-N1", "-w", "compute1")
    training = in_training(stack, "compute1")
    await_training(stack, training)
    restarts = int(shown(stack, "compute1", _UNIT, "NRestarts"))
    stack.exec("compute1", "kill", "-STOP", pid)
    hung = (
        f"journalctl -u slurm-k8s-bridge _PID=1 --no-pager -o cat | grep -c 'Killing process {pid} .*SIGABRT' || true"
    )
    eventually(lambda: stack.sh("compute1", hung) != "0\n", 90, "the watchdog")
    late = stack.submit(container_job(stack.images["small"], "echo late"), *here)
    eventually(lambda: stack.main_pid("compute1") not in ("0", pid), 60, "a new bridged")
    assert int(shown(stack, "compute1", _UNIT, "NRestarts")) == restarts + 1
    stack.let_go(training)
    stack.await_ended([training, late], 180)
    assert [stack.output(job) for job in (training, late)] == ["here\n", "late\n"]
    assert {stack.state(job) for job in (training, late)} == {"COMPLETED"}


@contextmanager
def dying(stack: Stack, node: str) -> Iterator[None]:
    """Every daemon of this node dies at once: its configuration is wrong."""
    text = stack.exec(node, "cat", _CONFIG)
    try:
        stack.exec(node, "sh", "-c", f"cat > {_CONFIG}", stdin="no_such_key = 1\n" + text)
        stack.exec(node, "kill", "-9", stack.main_pid(node))
        yield
    finally:
        stack.exec(node, "sh", "-c", f"cat > {_CONFIG}", stdin=text)


def test_however_often_it_dies_it_is_started_again_and_prologs_wait(stack: Stack) -> None:
    """After ten deaths in a row, too, nobody has to start it: neither it nor its sockets are given up."""
    with dying(stack, "compute1"):
        job = stack.submit(container_job(stack.images["small"], "echo done"), "-N1", "-w", "compute1")
        foreign = stack.submit(None, "-N1", "-w", "compute1", script="echo not ours")
        before = int(shown(stack, "compute1", _UNIT, "NRestarts"))
        eventually(lambda: int(shown(stack, "compute1", _UNIT, "NRestarts")) >= before + 8, 60, "eight more deaths")
        assert stack.show(job)["Reason"] == "Prolog"
        assert [shown(stack, "compute1", name, "ActiveState") for name in _SOCKETS] == ["active"] * 2
    stack.await_ended([job, foreign], 120)
    assert [stack.output(job), stack.output(foreign)] == ["done\n", "not ours\n"]
