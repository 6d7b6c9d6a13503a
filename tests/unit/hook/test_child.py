"""The detached child: nothing of the hook's is in it, and nobody waits for it."""

import json
import os
import signal
import subprocess
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from bridge.hook import account, child
from bridge.hook.job import Job
from tests.unit.hook.stage import ML, needs_root


def test_it_has_dev_null_its_pipe_and_a_session_of_its_own() -> None:
    ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)

    def look() -> bytes:
        links = []
        for fd in range(4096):  # however many the tests before have left open
            with suppress(OSError):
                links.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
        return json.dumps([links, str(Path.cwd()), os.getsid(0) != parent]).encode()

    parent = os.getsid(0)
    links, cwd, alone = json.loads(child.start(look, 5).reply())
    os.close(ours)
    os.close(theirs)
    assert [link for link in links if link != "/dev/null" and not link.startswith("pipe:")] == []
    assert len([link for link in links if link.startswith("pipe:")]) == 1
    assert (cwd, alone) == ("/", True)


def test_a_killed_one_is_no_answer() -> None:
    def die() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    with pytest.raises(child.DiedError, match="in the middle of its work"):
        child.start(die, 5).reply()


def test_half_a_reply_is_none() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"4711\n10\nhalf of")
    os.close(theirs)
    with pytest.raises(child.DiedError, match="in the middle of its work"):
        child.Child(ours, 5).reply()


def test_a_stopped_one_is_late_and_killed() -> None:
    def stop() -> bytes:
        os.kill(os.getpid(), signal.SIGSTOP)
        return b""

    began = time.monotonic()
    with pytest.raises(child.LateError):
        child.start(stop, 0.2).reply()
    assert time.monotonic() - began < 2


@needs_root
@pytest.mark.parametrize("theirs", [True, False])
def test_a_program_of_a_user_is_killed_as_that_user(theirs: bool) -> None:
    """They may have held its pipe until its number was somebody else's."""
    victim = subprocess.Popen(["sleep", "60"], user=ML if theirs else 0)
    try:
        reader, writer = os.pipe()
        os.write(writer, b"%d\n" % victim.pid)
        as_user = account.Account(ML, ML, [ML], "ml")
        with pytest.raises(child.LateError):
            child.Child(reader, 0.1, lambda: account.become(as_user)).output()
        os.close(writer)
        with nullcontext() if theirs else pytest.raises(subprocess.TimeoutExpired):
            victim.wait(5 if theirs else 0.3)
    finally:
        victim.kill()
        victim.wait()


def test_a_fault_in_it_is_no_second_hook() -> None:
    with pytest.raises(child.DiedError):
        child.start(lambda: b"%d" % (1 // 0), 5).reply()


def test_a_flood_is_cut() -> None:
    with pytest.raises(child.DiedError, match="more than"):
        child.start(lambda: b"x" * 3 * 1024 * 1024, 5).reply()


def test_no_zombie_is_left() -> None:
    child.start(lambda: b"", 5).reply()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_unknown_account_has_its_own_group_only() -> None:
    env = {b"SLURM_JOB_UID": b"987654", b"SLURM_JOB_GID": b"987655", b"SLURM_JOB_USER": b"no-such-user"}
    assert account.lookup(Job(env), 5).groups == [987655]


@needs_root
def test_root_is_given_up_for_good() -> None:
    def become() -> bytes:
        account.become(account.Account(ML, ML, [ML, 2777], "ml"))
        try:
            os.setuid(0)
        except PermissionError:
            return json.dumps([os.getresuid(), os.getresgid(), os.getgroups()]).encode()
        return b"[]"

    assert json.loads(child.start(become, 5).reply()) == [[ML] * 3, [ML] * 3, [ML, 2777]]
