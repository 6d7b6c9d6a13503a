"""A compute node reboots: every process of it dies, /run is empty, the boot is another one."""

from .specs import container_job
from .stack import Stack, eventually
from .test_daemon_killed import always_pulled

_REBOOTED = "compute1"
_RUNS = "/var/lib/slurm-k8s-bridge/runs"


def test_a_node_that_reboots_is_handed_on_only_after_it_is_proven_free(stack: Stack) -> None:
    """Under a training on both nodes, and while the prolog of another job waits on both."""
    again = container_job(stack.images["small"], "echo again; sleep 2")
    boot = stack.exec(_REBOOTED, "cat", "/proc/sys/kernel/random/boot_id")
    training = stack.submit(
        container_job(stack.images["small"], "trap 'exit 143' TERM; echo first; sleep 300 & wait"),
        *("-N2", "-c1", "--gpus-per-node=2"),
    )
    eventually(lambda: stack.output(training).count("first") == 2, 60, "training")
    stack.registry({"mode": "hang"})
    waiting = stack.submit(always_pulled(stack.images["small"], "echo done"), "-N2", "-c1")
    eventually(lambda: len(stack.names("pods")) == 4, 30, "pods waiting for their image")
    assert stack.show(waiting)["Reason"] == "Prolog"

    with stack.watching_pods() as watch:
        stack.docker("kill", _REBOOTED)
        # slurmctld would find out by itself after SlurmdTimeout, which is a minute here.
        stack.exec("slurmctld", "scontrol", "update", f"nodename={_REBOOTED}", "state=down", "reason=reboots")
        # The member's prolog of the other job waits until it hears of the workload's end, or gives the batch node up.
        stack.await_state(training, "PENDING", 60)
        for job in (training, waiting):
            stack.write(f"{job.directory}/job.yaml", again, job.user)
        stack.registry({"mode": "ok"})
        stack.docker("start", _REBOOTED)
        assert {str(job.id) for job in (training, waiting)} <= set(stack.exec(_REBOOTED, "ls", _RUNS).split())
        stack.await_healthy()
        assert stack.exec(_REBOOTED, "cat", "/proc/sys/kernel/random/boot_id") != boot
        ready = _moment(stack, "slurm-k8s-bridge", "ActiveEnterTimestampMonotonic")
        assert 0 < ready < _moment(stack, "slurmd", "ExecMainStartTimestampMonotonic"), "slurmd waits for the daemon"
        stack.await_ended([training, waiting], 180)
        stack.await_idle(60)
    for job in (training, waiting):
        assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
        assert stack.show(job)["Restarts"] == "1"
        assert stack.output(job) == "again\nagain\n"
        old = [f"slurm-demo-{job.id}-0-worker-{rank}" for rank in range(2)]
        assert set(old) <= set(watch.gone)
    anew = [at for name, at in watch.ready.items() if name.startswith(f"slurm-demo-{training.id}-1-")]
    assert watch.gone[f"slurm-demo-{training.id}-0-worker-0"] < min(anew)


def _moment(stack: Stack, unit: str, name: str) -> int:
    """Microseconds of the boot."""
    return int(stack.exec(_REBOOTED, "systemctl", "show", "-p", name, "--value", unit))
