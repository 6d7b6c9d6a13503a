"""A rank that writes as fast as it can: what becomes of its job, its output and its daemon."""

import time

from .specs import container_job
from .stack import Stack

_WIDTH = 1000  # bytes of a line
_MOST_MEMORY = 160  # MiB of the daemon


def flood(stack: Stack, seconds: int) -> None:
    """The job ends with its training, all of its output has come or the loss is told in it, and bridged stays small."""
    script = f"timeout {seconds} yes a line of $(head -c {_WIDTH - 11} /dev/zero | tr '\\0' x); echo; echo done"
    daemon = f"/proc/{stack.main_pid('compute1')}"
    stack.sh("compute1", f"echo 5 > {daemon}/clear_refs")  # VmHWM begins anew
    began = time.monotonic()
    job = stack.run(container_job(stack.images["small"], script), "-N1", "-w", "compute1", seconds=120 + 10 * seconds)
    took = time.monotonic() - began
    most = int(stack.sh("compute1", f"awk '/^VmHWM/ {{ print $2 }}' {daemon}/status")) // 1024
    # Not the last line: the shell's word of the signal comes by the other stream, before or after.
    seen = ("^a line", "^done$", "^slurm-k8s-bridge:.*lines-")
    lines = stack.sh("login", "".join(f"grep -ac '{pattern}' {job.output}; " for pattern in seen), check=False)
    shown, done, told = map(int, lines.split())
    print(f"{shown * _WIDTH / 1e6:.0f} MB in {took:.0f} s, {most} MiB, told of lost lines {told} times")
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert told or done == 1, stack.exec("login", "tail", "-c", "500", job.output)
    assert most < _MOST_MEMORY
    stack.exec("login", "rm", job.output)  # some hundred megabytes
