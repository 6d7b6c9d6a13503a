"""The daemon's sockets, asked by real accounts of a node: who is told what, and who can keep whom from being told."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bridge.wire.server import USERS

from .rows import await_training, in_training
from .specs import container_job
from .stack import Stack, eventually

_HOOK, _USER = "/run/slurm-k8s-bridge/hook.sock", "/run/slurm-k8s-bridge/user.sock"
_OWNER, _STRANGER, _DAEMON, _ROOT = "ml", "other", "slurm-k8s-bridge", "root"
# What is sent stands in the arguments, with the peer's own word of who it is: nobody takes it.
_ASK = """
import contextlib, json, socket, sys
sys.path.insert(0, "/usr/lib/slurm-k8s-bridge")
from bridge.wire.frames import Channel
sock = socket.socket(socket.AF_UNIX)
sock.settimeout(60)
sock.connect(sys.argv[1])
channel = Channel(sock)
with contextlib.suppress(BrokenPipeError):  # turned away already, and told why
    channel.send(dict(json.loads(sys.argv[2]), v=1, uid=0, pid=1, peer={"uid": 0}))
print(json.dumps(channel.receive()))
"""


def asked(stack: Stack, user: str, **question: object) -> dict[str, Any]:
    """The first word that this account is told."""
    words = ("/usr/bin/python3", "-I", "-c", _ASK, _USER, json.dumps(question))
    answer: dict[str, Any] = json.loads(stack.exec("compute1", *words, user=user))
    return answer


def _runs(answer: dict[str, Any]) -> list[int]:
    return [run["job"] for run in answer["runs"]]


def test_each_verb_tells_the_owner_and_root_and_nobody_else(stack: Stack) -> None:
    job = in_training(stack, "compute1")
    await_training(stack, job)
    mine: dict[str, object] = {"job": job.id}
    for user in (_OWNER, _ROOT):
        for verb in ("status", "ps"):
            assert job.id in _runs(asked(stack, user, verb=verb)), (user, verb)
        kinds = {verb: asked(stack, user, verb=verb, **mine)["kind"] for verb in ("show", "logs", "attach")}
        assert kinds == {"show": "run", "logs": "log", "attach": "attached"}, user
    for user in (_STRANGER, _DAEMON):
        for verb in ("status", "ps"):
            assert job.id not in _runs(asked(stack, user, verb=verb)), (user, verb)
        for verb in ("show", "logs", "attach", "stop"):
            told, of_none = (asked(stack, user, verb=verb, job=number) for number in (job.id, job.id + 1000))
            assert told["kind"] == "error", (user, verb)
            assert str(told).replace(str(job.id), "N") == str(of_none).replace(str(job.id + 1000), "N"), (user, verb)
    gc = {user: asked(stack, user, verb="gc")["kind"] for user in (_OWNER, _STRANGER, _DAEMON, _ROOT)}
    assert gc == {_OWNER: "error", _STRANGER: "error", _DAEMON: "error", _ROOT: "gc"}
    assert stack.show(job)["JobState"] == "RUNNING", "no stop has come through"
    assert asked(stack, _OWNER, verb="stop", **mine) == {"kind": "stopping"}
    stack.await_ended([job], 60)
    assert "ended" in stack.output(job)


@pytest.mark.parametrize("user", [_OWNER, _DAEMON])
def test_the_hooks_socket_is_roots(running_stack: Stack, user: str) -> None:
    words = ("/usr/bin/python3", "-I", "-c", _ASK, _HOOK, "{}")
    with pytest.raises(AssertionError, match="PermissionError"):
        running_stack.exec("compute1", *words, user=user)


# An account that does what it can to the sockets, in four ways, and comes again whenever it is sent away.
_CROWD = """
import os, selectors, socket, sys, time
os.dup2(os.open("/dev/null", os.O_RDWR), 1)
WAYS = (b"", b"6", b"60000\\n{", b"99999999\\n" + b" " * 65536)
chosen, count = selectors.DefaultSelector(), 0
def come():
    global count
    sock = socket.socket(socket.AF_UNIX)
    sock.setblocking(False)
    try:
        sock.connect("/run/slurm-k8s-bridge/user.sock")
        sock.send(WAYS[count % 4])
        chosen.register(sock, selectors.EVENT_READ)
        count += 1
    except OSError:
        sock.close()
end = time.monotonic() + 300
while time.monotonic() < end:
    while len(chosen.get_map()) < 400:
        before = count
        come()
        if count == before:
            break
    for key, _ in chosen.select(0.05):
        try:
            left = not key.fileobj.recv(65536)
        except OSError:
            left = True
        if left:
            chosen.unregister(key.fileobj)
            key.fileobj.close()
    time.sleep(0.01)
"""


@contextmanager
def crowd(stack: Stack, node: str, user: str) -> Iterator[None]:
    """This account's connections stand before the daemon of the node, as many as it gets."""
    stack.exec(node, "sh", "-c", "cat > /run/crowd.py", stdin=_CROWD)
    as_user = f"setpriv --reuid={user} --regid={user} --clear-groups"
    pid = stack.sh(node, f"setsid {as_user} /usr/bin/python3 -I /run/crowd.py </dev/null >/dev/null 2>&1 & echo $!")
    try:
        yield
    finally:
        stack.exec(node, "kill", "-9", pid.strip(), check=False)
        stack.sh(node, "rm /run/crowd.py")


def test_an_account_that_takes_all_it_gets_keeps_nobody_from_the_daemon(stack: Stack) -> None:
    pid = stack.main_pid("compute1")
    daemon = f"/proc/{pid}"
    with crowd(stack, "compute1", _STRANGER):
        eventually(lambda: connections(stack, pid) > USERS.others // 3, 60, "a crowd")
        assert "too many" in str(asked(stack, _STRANGER, verb="ps")) or connections(stack, pid) < USERS.others
        began = time.monotonic()
        jobs = [stack.submit(container_job(stack.images["small"], "echo done"), "-N1", "-wcompute1") for _ in range(2)]
        stack.await_ended(jobs, 120)
        for user in (_OWNER, _ROOT):
            assert {job.id for job in jobs} <= set(_runs(asked(stack, user, verb="ps"))), user
        print(f"two jobs in {time.monotonic() - began:.0f} s beside {connections(stack, pid)} connections")
        threads = int(stack.sh("compute1", f"awk '/^Threads/ {{ print $2 }}' {daemon}/status"))
    most = int(stack.sh("compute1", f"awk '/^VmHWM/ {{ print $2 }}' {daemon}/status")) // 1024
    print(f"{threads} threads, {most} MiB at most")
    assert [stack.output(job) for job in jobs] == ["done\n"] * 2
    assert stack.main_pid("compute1") == pid
    assert threads < _limit(stack, "TasksMax") // 4
    assert most < _limit(stack, "MemoryMax") // 2**20 // 2
    eventually(lambda: connections(stack, pid) < 16, 60, "an end of the crowd")


def connections(stack: Stack, pid: str) -> int:
    """Sockets that the daemon has open."""
    return int(stack.sh("compute1", f"ls -l /proc/{pid}/fd | grep -c socket: || true"))


def _limit(stack: Stack, name: str) -> int:
    return int(stack.exec("compute1", "systemctl", "show", "-p", name, "--value", "slurm-k8s-bridge"))
