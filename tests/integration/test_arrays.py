"""Arrays: every task its own run, and nobody's comment but one's own."""

import re

from .specs import container_job
from .stack import Job, Stack, eventually


def tasks(stack: Stack, array: Job) -> dict[int, dict[str, str]]:
    """Task number to job id, state and comment, as slurmctld has them."""
    text = stack.exec("login", "scontrol", "-o", "show", "job", str(array.id))
    found = {}
    for line in text.splitlines():
        numbers = re.search(r"JobId=(\d+) .*ArrayTaskId=(\d+) .*JobState=(\S+)", line)
        comment = re.search(r"Comment=(.*?) (?:TRES|Power|StdErr|$)", line)
        said = comment[1].strip() if comment else ""
        if numbers:
            found[int(numbers[2])] = {"id": numbers[1], "state": numbers[3], "comment": said}
    return found


def test_four_tasks_one_cancelled_one_requeued(stack: Stack) -> None:
    spec = container_job(stack.images["small"], "echo run $SLURM_JOB_ID $SLURM_RESTART_COUNT; sleep 6")
    array = stack.submit(spec, "-N1", "--gpus-per-node=2", "--array=0-3", "--requeue", "--output=%x-%a.out")
    seen: set[str] = set()

    def running(task: int) -> bool:
        seen.update(stack.names("pytorchjobs"))
        known = tasks(stack, array)
        return task in known and known[task]["state"] == "RUNNING" and "pods ready" in known[task]["comment"]

    eventually(lambda: running(1), 60, "task 1 running")
    stack.exec("login", "scancel", f"{array.id}_1", user="ml")
    eventually(lambda: running(2), 90, "task 2 running")
    stack.exec("login", "scontrol", "requeue", f"{array.id}_2", user="ml")

    def over() -> bool:
        seen.update(stack.names("pytorchjobs"))
        return {known["state"] for known in tasks(stack, array).values()} <= {"COMPLETED", "CANCELLED"}

    eventually(over, 180, "end of the array")
    stack.await_idle(30)
    ended = tasks(stack, array)
    assert {task: known["state"] for task, known in ended.items()} == {
        0: "COMPLETED", 1: "CANCELLED", 2: "COMPLETED", 3: "COMPLETED",
    }  # fmt: skip
    for task in (0, 2, 3):
        assert ended[task]["comment"].startswith("k8s=job.yaml | k8s: finished: 1/1 ranks exited 0; ready after ")
    ids = {task: known["id"] for task, known in ended.items()}
    wanted = {f"slurm-demo-{ids[task]}-0" for task in range(4)} | {f"slurm-demo-{ids[2]}-1"}
    assert seen == wanted
