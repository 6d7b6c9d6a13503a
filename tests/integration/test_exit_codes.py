"""The exit code of attach, as Slurm shows it afterwards: docs/reference/exit-codes.md, row by row. What SIGTERM makes
of it is in test_signals.py, more of what ends in 75 in test_rows_of_pods.py and test_fault_rows.py."""

import pytest

from bridge.cli.exit_codes import shown_by_sacct

from .nodes import without_scontrol
from .rows import await_training, in_training, meets, taken_away, worker
from .specs import container_job
from .stack import Stack

_ENDS_ITSELF = "sleep 60 & kill -{} $!; wait $!; exit $?"
_SMALL = ("-N1", "-n1", "--mem=512M")


@pytest.mark.timeout(300)
def test_slurm_shows_the_trainings_own_code(stack: Stack) -> None:
    scripts = {0: "true", 1: "false", 3: "exit 3", 255: "exit 255"}
    scripts |= {128 + number: _ENDS_ITSELF.format(number) for number in (9, 11, 15)}
    image = stack.images["small"]
    jobs = {code: stack.submit(container_job(image, script), *_SMALL) for code, script in scripts.items()}
    stack.await_ended(list(jobs.values()), 240)
    for code, job in jobs.items():
        state = "FAILED" if code else "COMPLETED"
        assert stack.sacct(job, "State,ExitCode") == f"{state}|{shown_by_sacct(code)}", stack.output(job)
        assert stack.show(job)["ExitCode"] == f"{code}:0"
    assert "rank 0 on compute" in stack.output(jobs[255]) and "exited 255" in stack.output(jobs[255])
    assert "was ended by signal 9" in stack.output(jobs[137])


def test_what_is_not_the_trainings_doing_is_75(stack: Stack) -> None:
    """A pod that somebody deletes, and an image that does not come, where nobody could cancel the job for it."""
    deleted = in_training(stack, "compute1", "--mem=64M")
    nothing = container_job("registry:5000/skb/nothing:1", "true")
    with without_scontrol(stack, "compute2"):
        imageless = stack.submit(nothing, "-N1", "-wcompute2")
        await_training(stack, deleted)
        stack.kubectl("-n", stack.namespace, "delete", "pod", worker(deleted), "--wait=false")
        taken_away(stack, deleted, "pod-deleted", "compute1")
        stack.await_ended([imageless], 120)
    assert stack.sacct(imageless, "State,ExitCode") == "FAILED|75:0", stack.output(imageless)
    assert meets("image-missing", stack.output(imageless))
