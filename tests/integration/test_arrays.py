"""Arrays: every task its own run, and nobody's comment but one's own."""

import json
import re
from functools import partial

from .specs import container_job
from .stack import Job, Stack, eventually
from .test_explain import bridgectl


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


def test_elements_are_named_as_slurm_names_them(stack: Stack) -> None:
    """On the login node, and by the daemon of the element's node; while both run, and once they are over."""
    spec = container_job(stack.images["small"], "echo element; sleep 600")
    array = stack.submit(spec, "-N1", "--gpus-per-node=2", "--array=3-4", "--output=%x-%a.out")

    def row(task: int) -> list[str]:
        said = json.loads(bridgectl(stack, "ps", "-o", "json"))
        return [row["phase"] for row in said if row["id"] == f"{array.id}_{task}"]

    eventually(lambda: row(3) == row(4) == ["running"], 90, "both elements running")
    numbers = {task: known["id"] for task, known in tasks(stack, array).items()}
    for task, number in numbers.items():
        name = f"{array.id}_{task}"
        eventually(partial(_has_spoken, stack, name), 60, "its output")
        story = json.loads(bridgectl(stack, "explain", name, "-o", "json"))
        assert (story["id"], str(story["job"]), story["phase"]) == (name, number, "running")
        node = stack.exec("login", "squeue", "--noheader", f"--jobs={name}", "--format=%B").strip()
        here = stack.exec(node, "bridgectl", "show", name, "-o", "json")
        assert str(json.loads(here)["job"]) == number
        assert name in stack.exec(node, "bridgectl", "ps") and name in stack.exec(node, "bridgectl", "status")
        assert _several(array) in stack.exec(node, "sh", "-c", f"bridgectl explain {array.id} 2>&1 || true")
    assert bridgectl(stack, "explain", str(array.id)).startswith(f"bridgectl: {_several(array)}")
    assert "[het-part]; submit one job" in bridgectl(stack, "logs", f"{array.id}+1")
    assert "[jobid-unlike]; write 12, or 12_3" in bridgectl(stack, "show", f"{array.id}_[3-4]")
    stack.exec("login", "scancel", str(array.id), user="ml")
    stack.await_idle(60)
    story = json.loads(bridgectl(stack, "explain", f"{array.id}_3", "-o", "json"))
    assert (story["id"], story["phase"]) == (f"{array.id}_3", "released"), story


def _has_spoken(stack: Stack, name: str) -> bool:
    return bridgectl(stack, "logs", name) == "element\n"


def _several(array: Job) -> str:
    return f"job {array.id} is an array: {array.id}_3, {array.id}_4 [array-job]; name one element, such as {array.id}_3"
