"""An upgrade replaces hook, daemon and bridgectl at different moments: no node is drained for it, and no job ends."""

from collections.abc import Iterator
from contextlib import contextmanager

from .specs import container_job
from .stack import Stack, eventually

_NODE = "compute1"
_ON_IT = ("-N1", "-w", _NODE, "--gpus-per-node=2")
_UNIT = "slurm-k8s-bridge"
_NAMES = "/usr/lib/slurm-k8s-bridge/bridge/wellknown.py"
_COUNT = "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.1; done"


@contextmanager
def daemon_that_speaks(stack: Stack, protocol: int, oldest: int) -> Iterator[None]:
    """A daemon of a later version, while hook and bridgectl are those of this one; then this one's again."""
    change = f"s/^PROTOCOL = .*/PROTOCOL = {protocol}/; s/^OLDEST_PROTOCOL = .*/OLDEST_PROTOCOL = {oldest}/"
    stack.sh(
        _NODE,
        f"cp -p {_NAMES} {_NAMES}.kept && sed -i '{change}' {_NAMES} && systemctl restart {_UNIT}; "
        f"mv {_NAMES}.kept {_NAMES}",
    )
    try:
        yield
    finally:
        stack.exec(_NODE, "systemctl", "restart", _UNIT)


def turned_away(stack: Stack) -> int:
    """How many questions of hooks the daemon that runs now did not understand."""
    log = stack.exec(_NODE, "journalctl", "-o", "cat", "--no-pager", f"_PID={stack.main_pid(_NODE)}")
    return log.count('"hook_mismatch"')


def test_hooks_that_the_daemon_does_not_understand_wait_for_the_one_that_does(stack: Stack) -> None:
    spec = container_job(stack.images["small"], "trap 'exit 0' TERM; echo here; sleep 300 & wait")
    with daemon_that_speaks(stack, protocol=3, oldest=2):
        job = stack.submit(spec, *_ON_IT)
        eventually(lambda: turned_away(stack) > 1, 30, "a prolog that asks again")
        assert stack.show(job)["Reason"] == "Prolog"
    eventually(lambda: "here" in stack.output(job), 60, "training")
    with daemon_that_speaks(stack, protocol=3, oldest=2):
        stack.exec("login", "scancel", str(job.id), user="ml")
        eventually(lambda: turned_away(stack) > 1, 30, "an epilog that asks again")
        assert "drain" not in stack.node_states()[_NODE]
    stack.await_end(job)
    assert stack.state(job) == "CANCELLED"


def test_a_daemon_of_the_next_protocol_serves_hook_and_attach_of_this_one(stack: Stack) -> None:
    job = stack.submit(container_job(stack.images["small"], _COUNT), *_ON_IT)
    eventually(lambda: "line 5\n" in stack.output(job), 60, "training")
    with daemon_that_speaks(stack, protocol=2, oldest=1):
        stack.await_end(job)
        assert turned_away(stack) == 0
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert stack.output(job) == "".join(f"line {number}\n" for number in range(40))
