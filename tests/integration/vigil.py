"""A watcher on a node that knows nothing of the bridge: what lives there, and when the node was given back."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .stack import Job, Stack, eventually

# slurmd runs the epilogs of its directory from z to a, and none after one that failed: this one says that ours did not.
_AFTER = "/etc/slurm/epilog.d/10-after-the-bridge"
_SAYS_SO = """#!/bin/sh
: >/run/after-the-bridge-$SLURM_JOB_ID
"""

# Runs on the node until its standard input ends. A line for each look that differs from the one before. Whether the
# node was given back is looked at first, so that what is found alive then was alive after that.
_LOOK = """
import json, os, select, sys, time

marker, after, *needles = sys.argv[1:]

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""

def alive(pid):
    said = read(f"/proc/{pid}/cgroup") + read(f"/proc/{pid}/cmdline")
    state = read(f"/proc/{pid}/stat").rpartition(") ")[2][:1]
    return state not in ("", "Z", "X") and any(needle in said for needle in needles)

last = None
while not select.select([0], [], [], 0.05)[0]:
    released = os.path.exists(after) or not os.path.exists(marker)
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid() and alive(pid)]
    if (released, pids) != last:
        last = released, pids
        print(json.dumps({"at": time.time(), "released": released, "pids": pids}), flush=True)
"""


@dataclass
class Vigil:
    """What was seen so far; times are seconds since the epoch."""

    pids: list[int] = field(default_factory=list)
    ended: float | None = None  # when nothing was alive any more
    released: float | None = None  # when the node was given back: slurmd's epilog went on, or the run marker went
    survivors: list[int] = field(default_factory=list)  # alive after that
    changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, look: dict[str, object]) -> None:
        """One look."""
        at, pids = look["at"], look["pids"]
        assert isinstance(at, float) and isinstance(pids, list)
        with self.changed:
            self.pids = pids
            self.ended = None if pids else self.ended or at
            if look["released"]:
                self.released = self.released or at
                self.survivors += pids
            self.changed.notify_all()

    def await_life(self, seconds: float = 10) -> list[int]:
        """Until something lives; its processes."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.pids, seconds), "nothing lives"
            return list(self.pids)

    def await_release(self, seconds: float) -> None:
        """Until nothing lives any more and the node has been given back."""
        with self.changed:
            done = self.changed.wait_for(lambda: self.ended is not None and self.released is not None, seconds)
            assert done, f"not released within {seconds:.0f} s; alive: {self.pids}, released: {self.released}"
            assert self.ended is not None and self.released is not None
            print(f"given back {self.released - self.ended:+.2f} s after the last process ended", file=sys.stderr)

    def await_end(self, seconds: float) -> None:
        """Until nothing lives any more."""
        with self.changed:
            assert self.changed.wait_for(lambda: not self.pids, seconds), f"alive: {self.pids}"

    def stays_held(self, seconds: float) -> None:
        """The node is not given back for so long, and something lives on all the time."""
        with self.changed:
            early = self.changed.wait_for(lambda: self.released is not None or not self.pids, seconds)
            assert not early, f"alive: {self.pids}, released: {self.released}"


@contextmanager
def watching(stack: Stack, node: str, job: Job, *needles: str) -> Iterator[Vigil]:
    """Watch the processes of a node whose cgroup or command line has one of the needles; at the end nothing may have
    been alive on a node that was given back."""
    stack.exec(node, "sh", "-c", f"cat >{_AFTER} && chmod 0755 {_AFTER}", stdin=_SAYS_SO)
    files = [f"/var/lib/slurm-k8s-bridge/runs/{job.id}", f"/run/after-the-bridge-{job.id}"]
    command = ["docker", "exec", "-i", stack.container(node), "python3", "-c", _LOOK, *files, *needles]
    vigil = Vigil()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=_read, args=(process, vigil))
        reader.start()
        try:
            yield vigil
        finally:
            assert process.stdin is not None
            process.stdin.close()  # what runs in the container does not get docker's signals
            reader.join()
    assert not vigil.survivors, f"alive on {node} after it was given back: {vigil.survivors}"
    # slurmd lists its epilogs before the first of them runs, and drains the node where one has gone by its turn: the
    # marker that says "given back" goes a moment before that turn. After a failure the script stays: no harm.
    eventually(lambda: stack.node_states()[node] in ("idle", "drained"), 60, f"the end of the epilogs on {node}")
    stack.exec(node, "rm", "-f", _AFTER)


def _read(process: "subprocess.Popen[str]", vigil: Vigil) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        vigil.take(json.loads(line))
