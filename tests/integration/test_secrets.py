"""Where tokens must not be seen while they are in use: arguments, environments, core dumps. What a session leaves
behind is searched at its end (leaks.py)."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from .leaks import SHAPES
from .rows import await_training, in_training
from .stack import Stack, eventually

# Runs on the node until its standard input ends: every process, again and again, its own excepted. The pattern comes
# by standard input, since it would be found among the arguments.
_LOOK = """
import json, os, re, select, sys

pattern = re.compile(sys.stdin.readline().strip().encode())
seen, hooks = set(), 0
print("looks", flush=True)
while not select.select([0], [], [], 0)[0]:
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        for part in ("cmdline", "environ"):
            try:
                with open(f"/proc/{pid}/{part}", "rb") as file, open(f"/proc/{pid}/comm") as comm:
                    text, name = file.read(), comm.read().strip()
            except OSError:
                continue  # it has ended, between any two of these
            hooks += b"slurm-k8s-bridge/bridge/hook" in text or b"scontrol\\0token" in text
            if pattern.search(text):
                seen.add(f"{part} of {name}")
print(json.dumps({"seen": sorted(seen), "hooks": hooks}))
"""


@contextmanager
def watched(stack: Stack, node: str, seen: list[str]) -> Iterator[None]:
    """Where a token was seen meanwhile comes into ``seen``; a look at every process takes some milliseconds."""
    command = ["docker", "exec", "-i", stack.container(node), "python3", "-c", _LOOK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            print("|".join(SHAPES), file=process.stdin, flush=True)
            assert process.stdout.readline() == "looks\n"
            yield
        finally:
            process.stdin.close()
            answer = process.stdout.read()
    found = json.loads(answer)
    assert found["hooks"], "no hook and no scontrol was looked at"
    seen += found["seen"]


def test_no_process_shows_a_token(stack: Stack) -> None:
    """While prolog, daemon, attach and epilog have some; and one that is planted is seen."""
    seen: list[str] = []
    with watched(stack, "compute1", seen):
        job = in_training(stack, "compute1", "-c1")
        await_training(stack, job)
        stack.exec("compute1", "systemctl", "restart", "slurm-k8s-bridge")  # attach mints one for the next daemon
        stack.let_go(job)
        stack.await_ended([job], 60)
        assert seen == []
        token = stack.exec("slurmctld", "scontrol", "token", "username=ml", "lifespan=60").strip()
        stack.exec("compute1", "sh", "-c", "read PLANTED; export PLANTED; exec sleep 2", stdin=token)
    assert "environ of sleep" in seen


def test_a_daemon_that_is_aborted_leaves_no_core_dump(stack: Stack) -> None:
    pid = stack.main_pid("compute1")
    limits = stack.exec("compute1", "cat", f"/proc/{pid}/limits")
    (limit,) = [line.split()[4:6] for line in limits.splitlines() if line.startswith("Max core file size")]
    assert limit in (["1", "1"], ["0", "0"])
    stack.exec("compute1", "kill", "-ABRT", pid)
    eventually(lambda: stack.main_pid("compute1") not in ("0", pid), 30, "a new bridged")
    said = stack.exec("compute1", "journalctl", "-u", "slurm-k8s-bridge", "-o", "cat", "--no-pager", "-n", "200")
    assert "Main process exited, code=killed, status=6/ABRT" in said
    assert "code=dumped" not in said
    found = "find / -xdev -user slurm-k8s-bridge -name 'core*' -type f"
    assert stack.sh("compute1", found) == ""
