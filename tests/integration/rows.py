"""What the tests of the fault table's rows share: a job for each row, and what its owner is told of it."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bridge.job.faults import row

from .specs import UNTIL_LET_GO, container_job
from .stack import NODES, Job, Stack, eventually

NAMESPACED = {"matchLabels": {"kubernetes.io/metadata.name": "slurm-jobs"}}


@dataclass(frozen=True)
class Case:
    """A job of one node and the row that it meets. ``words`` stand in what is told of it; ``node`` is where it runs,
    '' for any."""

    row: str
    spec: str | None
    words: str = ""
    options: tuple[str, ...] = ()
    node: str = ""


@dataclass(frozen=True)
class Submitted:
    """A case in the queue, and the node whose daemon knows of it."""

    case: Case
    job: Job
    node: str


def manifest(stack: Stack, *command: str, volumes: list[Any] | None = None, **container: Any) -> str:
    """A PyTorchJob of one worker; an init container stands in ``inits``."""
    inits = container.pop("inits", [])
    made = {"name": "pytorch", "image": stack.images["small"], "command": list(command or ("true",)), **container}
    pod = {"containers": [made], "initContainers": inits, "volumes": volumes or []}
    worker = {"replicas": 1, "template": {"spec": pod}}
    return json.dumps(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "x"},
            "spec": {"pytorchReplicaSpecs": {"Worker": worker}},
        }
    )


def submitted(stack: Stack, cases: Sequence[Case]) -> list[Submitted]:
    """All of them at once: Slurm runs two on each node at a time."""
    queue = []
    for index, case in enumerate(cases):
        node = case.node or NODES[index % len(NODES)]
        job = stack.submit(case.spec, "-N1", f"--nodelist={node}", *case.options, name=case.row)
        queue.append(Submitted(case, job, node))
    return queue


def explained(stack: Stack, job: Job, node: str = "compute1") -> dict[str, Any]:
    """What `bridgectl explain` tells the job's owner; nothing before it has begun there: Slurm alone takes a job for
    one in its prolog while the hook is still on its way to the daemon."""
    words = ("bridgectl", "explain", str(job.id), "--json")
    said = stack.exec(node, *words, user=job.user, check=False)
    story: dict[str, Any] = json.loads(said) if said.startswith("{") else {}
    return {} if story.get("told_by") == "Slurm alone" else story


def told(stack: Stack, job: Job, node: str = "compute1") -> str:
    """Every sentence of `bridgectl explain`, one a line."""
    story = explained(stack, job, node)
    return "\n".join([str(story.get("sentence", "")), *story.get("suspicions", {}).values()])


def done(stack: Stack, job: Job, node: str) -> str:
    """What the bridge says that it has done about a job, and what it could not do."""
    return "\n".join(explained(stack, job, node)["done"])


def meets(name: str, said: str) -> bool:
    """Whether the sentence of this row is among what was said."""
    return re.search(re.sub(r"\\\{\w+\\\}", ".+", re.escape(row(name).sentence)), said) is not None


def in_training(stack: Stack, node: str, *options: str, name: str = "job") -> Job:
    """A job of one node whose training runs until it is let go."""
    spec = container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}")
    return stack.submit(spec, "-N1", f"--nodelist={node}", *options, name=name)


def await_training(stack: Stack, *jobs: Job) -> None:
    """Until all of them train."""
    for job in jobs:
        eventually(lambda job=job: "here" in stack.output(job), 90, f"training of job {job.id}")  # type: ignore[misc]


def taken_away(stack: Stack, job: Job, name: str, node: str) -> None:
    """The training ended for this row: its job with the exit code of the infrastructure, and its owner is told why."""
    stack.await_ended([job], 90)
    assert stack.sacct(job, "State,ExitCode") == "FAILED|75:0", f"{name}: {stack.output(job)}"
    assert meets(name, stack.output(job)), f"{name}: {stack.output(job)}"
    assert explained(stack, job, node)["row"] == name


def worker(job: Job) -> str:
    """The pod of a job of one node."""
    return f"slurm-demo-{job.id}-0-worker-0"


def hindered(stack: Stack, *cases: Case, seconds: float = 120) -> None:
    """Each job waits, and its owner hears why, until they give it up; its node stays in service."""
    given_up(stack, submitted(stack, cases), seconds)


def given_up(stack: Stack, queue: Sequence[Submitted], seconds: float = 120) -> None:
    """Each of these jobs waits until its owner has heard why."""
    for item in queue:
        hears(stack, item.job, item.case.row, item.node, seconds, item.case.words)
        stack.exec("login", "scancel", str(item.job.id), user=item.job.user)
    stack.await_ended([item.job for item in queue], 90)
    stack.await_idle(60)
    assert [stack.state(item.job) for item in queue] == ["CANCELLED"] * len(queue)


def refused(stack: Stack, *cases: Case, seconds: float = 300) -> None:
    """Each job is cancelled for its row, its owner is told once, and its node stays in service."""
    queue = submitted(stack, cases)
    stack.await_ended([item.job for item in queue], seconds)
    stack.await_idle(60)
    for item in queue:
        _is_refused(stack, item)


def _is_refused(stack: Stack, item: Submitted) -> None:
    case, job = item.case, item.job
    assert stack.state(job) == "CANCELLED", f"{case.row}: {stack.output(job)}"
    comment = stack.comment(job)
    assert case.words in comment and comment.startswith("k8s=job.yaml | k8s: failed: "), comment
    (line,) = stack.output(job).splitlines()
    assert line.startswith("slurm-k8s-bridge: ") and case.words in line, line
    story = explained(stack, job, item.node)
    assert (story["row"], story["verdict"]) == (case.row, "job"), story
    assert "the job was cancelled" in story["done"] and "told in the job's comment" in story["done"]


def hears(stack: Stack, job: Job, name: str, node: str = "compute1", seconds: float = 120, words: str = "") -> None:
    """The job's owner is told of this row, in the end with these words: Kubernetes may first say less."""
    last = ""

    def look() -> bool:
        nonlocal last
        last = told(stack, job, node)
        return meets(name, last) and words in last

    try:
        eventually(look, seconds, f"{name}, told to the owner of job {job.id}")
    except AssertionError as error:
        raise AssertionError(f"{error}: {last}") from None


@contextmanager
def applied(stack: Stack, *objects: dict[str, Any]) -> Iterator[None]:
    """These objects exist in the cluster."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    stack.kubectl("apply", "-f", "-", stdin=text)
    try:
        yield
    finally:
        stack.kubectl("delete", "--wait=true", "--ignore-not-found", "-f", "-", stdin=text)


@contextmanager
def changed(stack: Stack, kind: str, name: str, path: str, value: Any = None) -> Iterator[None]:
    """One field of an object that belongs to no namespace has another value, or is not there; then its own again."""
    field: Any = json.loads(stack.kubectl("get", kind, name, "-o", "json"))
    for part in path.strip("/").split("/"):
        field = field[int(part)] if isinstance(field, list) else field[part]
    there = {"op": "remove", "path": path} if value is None else {"op": "add", "path": path, "value": value}
    back = {"op": "add", "path": path, "value": field}
    try:
        stack.kubectl("patch", kind, name, "--type=json", "-p", json.dumps([there]))
        yield
    finally:
        stack.kubectl("patch", kind, name, "--type=json", "-p", json.dumps([back]))
