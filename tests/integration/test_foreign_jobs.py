"""A job that does not ask for the bridge is none of its business."""

import re
import sys

import pytest

from .nodes import without_daemon
from .stack import NODES, Stack

# 200 runs of each, in turn, so that the machine's moods hit both alike; prints microseconds a run.
_TIMING = r"""
printf '#!/bin/sh\n' > /var/tmp/empty; chmod 755 /var/tmp/empty  # in /run nothing may be started
once() { for _ in 1 2 3 4 5 6 7 8 9 10; do env -i SLURM_JOB_ID=1 SLURM_JOB_COMMENT=none "$1"; done; }
for round in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  for hook in /var/tmp/empty /etc/slurm/prolog.d/50-slurm-k8s-bridge /etc/slurm/epilog.d/50-slurm-k8s-bridge; do
    a=$(date +%s%N); once $hook; b=$(date +%s%N); echo "$hook $(( (b - a) / 10000 ))"
  done
done
"""


def test_it_runs_with_the_daemon_stopped_and_its_socket_gone(stack: Stack) -> None:
    with without_daemon(stack, "compute1"), without_daemon(stack, "compute2"):
        job = stack.run(None, "-N2", "--gpus-per-node=2", script="srun hostname")
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert sorted(stack.output(job).split()) == list(NODES)


def test_the_hooks_cost(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints what both hooks cost a job that is not ours, beside an empty one; `make bench` judges it."""
    lines = stack.exec("compute1", "sh", "-c", _TIMING).split("\n")
    found = re.findall(r"(\S+) (\d+)", "\n".join(lines))
    cost = {hook: sorted(int(each) for name, each in found if name == hook) for hook in {name for name, _ in found}}
    empty = cost.pop("/var/tmp/empty")
    with capsys.disabled():
        print(f"\nempty hook: {empty[10]} µs (min {empty[0]}, max {empty[-1]})", file=sys.stderr)
        for hook, times in sorted(cost.items()):
            over = times[10] - empty[10]
            print(
                f"{hook}: {times[10]} µs (min {times[0]}, max {times[-1]}), {over:+d} µs over an empty one",
                file=sys.stderr,
            )
    assert len(cost) == 2 and all(len(times) == 20 for times in cost.values())
