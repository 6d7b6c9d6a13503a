"""`bridgectl check` and `render` on the login node tell what the prolog will do."""

import json
from typing import Any

from .rows import await_training
from .specs import UNTIL_LET_GO, container_job
from .stack import Stack

_ASKED = ("-N2", "--gpus-per-node=2", "-c2", "--mem=256M")


def strip(value: Any, names: dict[str, str]) -> Any:
    """Without what names the job, its nodes and its start."""
    if isinstance(value, dict):
        return {strip(key, names): strip(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [strip(item, names) for item in value]
    if isinstance(value, str):
        for name, word in names.items():
            value = value.replace(name, word)
    return value


def test_what_is_rendered_on_the_login_node_is_what_is_created(stack: Stack) -> None:
    spec = container_job(stack.images["small"], f"echo here; {UNTIL_LET_GO}")
    job = stack.submit(spec, *_ASKED)
    file = f"{job.directory}/job.yaml"
    said = stack.exec("login", "bridgectl", "check", file, *_ASKED, user="ml")
    assert said == "it would run: every field is kept, set or translated as said above\n"
    words = ("render", file, *_ASKED, "-p", "main", "-J", "sbatch", "-o", "json")
    rendered = json.loads(stack.exec("login", "bridgectl", *words, user="ml"))
    await_training(stack, job)
    created = json.loads(
        stack.kubectl("-n", stack.namespace, "get", "pytorchjob", "-o", "json", "-l", f"slurm-k8s-bridge/job={job.id}")
    )["items"][0]
    stack.let_go(job)
    stack.await_end(job)
    start = created["metadata"]["annotations"]["slurm-k8s-bridge/start"]
    run = {
        f"demo-{job.id}-": "demo-1-",
        start: "0",
        "compute1": "node1",
        "compute2": "node2",
        job.directory: "/home/ml",
    }
    made, meant = (item["spec"]["pytorchReplicaSpecs"]["Worker"] for item in (strip(created, run), rendered))
    ours, theirs = ({entry["name"]: entry for entry in training_of(item).pop("env")} for item in (made, meant))
    assert ours.pop("SLURM_JOB_ACCOUNT") and "SLURM_JOB_ACCOUNT" not in theirs, "only slurmctld knows the default one"
    assert (ours.pop("SLURM_JOB_ID")["value"], theirs.pop("SLURM_JOB_ID")["value"]) == (str(job.id), "1")
    assert ours == theirs
    for item in (made, meant):
        item["template"]["metadata"]["labels"].pop("slurm-k8s-bridge/job")
    assert made == meant


def training_of(worker: dict[str, Any]) -> dict[str, Any]:
    """The training's container."""
    (container,) = worker["template"]["spec"]["containers"]
    found: dict[str, Any] = container
    return found
