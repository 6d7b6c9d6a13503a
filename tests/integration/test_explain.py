"""What a user learns on the login node, where no daemon is: while the job waits, while it runs, and once it is over."""

import json
from itertools import pairwise
from typing import Any

from .specs import container_job
from .stack import Job, Stack, eventually

_UNTIL_TOLD = "echo hello; while [ ! -e /tmp/go ]; do sleep 0.2; done; exit 3"
_STATIONS = ["submitted", "eligible", "allocated", "prolog", "created", "opened", "scheduled", "pulling", "started"]
_STATIONS += ["ready", "answered", "script"]
_RELEASED = [*_STATIONS, "ended", "epilog", "released"]


def bridgectl(stack: Stack, *words: str, user: str = "ml", **environment: str) -> str:
    """What bridgectl says on the login node; its own complaint where it fails."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    shell = 'env "$@" 2>/tmp/said-$$ || cat /tmp/said-$$; rm -f /tmp/said-$$'
    return stack.exec("login", "sh", "-c", shell, "sh", *settings, "bridgectl", *words, user=user)


def explained(stack: Stack, job: Job) -> dict[str, Any]:
    """The whole story of a job; one without a station where bridgectl has only a complaint, as while the job ends."""
    said = bridgectl(stack, "explain", str(job.id), "-o", "json")
    complaint: dict[str, Any] = {"row": None, "timeline": [], "phase": said, "told_by": said}
    story: dict[str, Any] = complaint if said.startswith("bridgectl: ") else json.loads(said)
    return story


def stations(story: dict[str, Any]) -> list[str]:
    """Those of its time line, whose times may be rounded to whole seconds by Slurm and Kubernetes."""
    times = [passed["at"] for passed in story["timeline"]]
    assert all(later > earlier - 2 for earlier, later in pairwise(times)), story["timeline"]
    return [passed["station"] for passed in story["timeline"]]


def test_a_job_is_explained_on_the_login_node(stack: Stack) -> None:
    """One job runs and fails, another waits for an image that there is not."""
    number = stack.images["small"]
    job = stack.submit(container_job(number, _UNTIL_TOLD), "--time=5", name="runs")
    waits = stack.submit(container_job(number.replace("small", "none"), "true"), "--time=5", name="waits")
    stack.await_state(waits, "RUNNING", 60)
    _while_its_prolog_runs(stack, waits)
    _while_it_runs(stack, job)
    stack.await_end(job, 60)
    stack.await_end(waits, 90)
    _once_it_is_over(stack, job)
    _once_it_was_refused(stack, waits)


def _while_its_prolog_runs(stack: Stack, job: Job) -> None:
    story = explained(stack, job)
    assert (story["phase"], story["told_by"]) == ("prolog", "Slurm alone"), story
    assert "its prologs run" in story["sentence"]
    assert stations(story) == ["submitted", "eligible", "allocated"]


def _while_it_runs(stack: Stack, job: Job) -> None:
    number = str(job.id)
    eventually(lambda: stations(explained(stack, job)) == _STATIONS, 60, "a script at attach")
    (row,) = [row for row in json.loads(bridgectl(stack, "ps", "-o", "json")) if row["job"] == job.id]
    assert (row["phase"], row["nodes"], row["user"]) == ("running", [stack.show(job)["NodeList"]], "ml")
    story = explained(stack, job)
    assert story["told_by"] == f"bridged on {row['nodes'][0]}, asked by a step of the job"
    assert (story["row"], story["unknown"]) == (None, [])
    assert json.loads(bridgectl(stack, "show", number, "-o", "json"))["pods"]["0"]["started"] is True
    assert bridgectl(stack, "logs", number) == "hello\n"
    beside = stack.exec("login", "srun", "--overlap", f"--jobid={number}", "hostname", user="ml")
    assert beside.strip() == row["nodes"][0], "a step of Slurm's runs beside the pod"
    assert bridgectl(stack, "explain", number, user="other").startswith("bridgectl: ")
    _in_the_container(stack, job)


def _in_the_container(stack: Stack, job: Job) -> None:
    number = str(job.id)
    refused = bridgectl(stack, "shell", number)
    assert refused.startswith("bridgectl: shell needs a kubeconfig of your own") and refused.count("\n") == 1
    config = f"{job.directory}/kubeconfig"
    stack.write(config, stack.exec("login", "cat", "/root/.kube/config"), mode="600")
    words = ("shell", number, "--rank=0", "--", "sh", "-c", "hostname; touch /tmp/go")
    try:
        assert bridgectl(stack, *words, KUBECONFIG=config).strip().endswith("-worker-0")
    finally:
        stack.exec("login", "rm", config)  # at the end no secret may stand anywhere


def _once_it_is_over(stack: Stack, job: Job) -> None:
    file = f"{job.output}.k8s.json"
    eventually(lambda: stack.exec("login", "ls", job.directory).split().count("out.k8s.json") == 1, 10, "its time line")
    story = explained(stack, job)
    assert (story["told_by"], story["row"], story["verdict"]) == (file, "rank-failed", "job"), story
    assert stations(story) == _RELEASED and story["unknown"] == []
    assert story["cause"].startswith("failed: rank 0 on ") and story["consequence"] and story["cure"]
    assert stack.exec("login", "stat", "-c", "%U %G %h", file).split() == ["ml", "ml", "1"]
    text = bridgectl(stack, "explain", "--file", file)
    assert "waited:" in text and "cure:    see the rank's last lines" in text and "proven gone" in text
    assert "hello" in bridgectl(stack, "logs", str(job.id))
    assert json.loads(bridgectl(stack, "show", str(job.id), "-o", "json"))["outcome"]["exit"] == 3
    assert job.id not in [row["job"] for row in json.loads(bridgectl(stack, "ps", "-o", "json"))]


def _once_it_was_refused(stack: Stack, job: Job) -> None:
    eventually(lambda: explained(stack, job)["row"] == "image-missing", 10, "its time line")
    story = explained(stack, job)
    assert stations(story)[-3:] == ["answered", "epilog", "released"] and "judged" in stations(story)
    (longest,) = [wait for wait in story["waits"] if wait["until"] == "judged"]
    assert longest["seconds"] > 15 and longest["over"]
