"""A user's mistake: one plain sentence, a cancelled job, no node drained, nothing left."""

import time
from collections.abc import Iterator

import pytest

from .specs import container_job
from .stack import Job, Stack, eventually

_KIND = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"


def refused(stack: Stack, job: Job, words: str, began: float) -> None:
    """The job ended for a reason with these words in it, told once, within 15 seconds, and nobody was drained."""
    eventually(lambda: stack.state(job) == "CANCELLED", 20, f"job {job.id} cancelled ({stack.state(job)})")
    eventually(lambda: set(stack.node_states().values()) == {"idle"}, 15, "idle nodes")
    assert time.monotonic() - began < 15, "the nodes were held for too long"
    lines = stack.output(job).splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("slurm-k8s-bridge: ") and words in lines[0], lines
    assert words in stack.comment(job) and stack.comment(job).startswith("k8s=")
    batch_node = "compute2" if stack.sacct(job, "NodeList") == "compute2" else "compute1"
    assert words in stack.exec(batch_node, "bridgectl", "show", str(job.id), user=job.user)


SPECS = {
    "not-yaml": ("kind: [unclosed\n", "YAML"),
    "wrong-kind": (_KIND, "kind"),
    "unknown-field": ("container-job:colour", "colour"),
    "privileged": ("container-job:privileged", "privileged"),
    "three-gpus": ("container-job:gpus", "gpu"),
    "huge": ("#" * 10_000_000, "1 MiB"),
}


def spec_text(stack: Stack, text: str) -> str:
    """The spec of a case."""
    image = stack.images["small"]
    match text:
        case "container-job:colour":
            return container_job(image, "true", colour="red")
        case "container-job:privileged":
            return _pytorch(image, '"securityContext": {"privileged": true}')
        case "container-job:gpus":
            return _pytorch(image, '"resources": {"limits": {"nvidia.com/gpu": 3}}')
    return text


def _pytorch(image: str, field: str) -> str:
    container = f'{{"name": "pytorch", "image": "{image}", "command": ["true"], {field}}}'
    template = f'{{"spec": {{"containers": [{container}]}}}}'
    return (
        '{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}, '
        f'"spec": {{"pytorchReplicaSpecs": {{"Worker": {{"replicas": 1, "template": {template}}}}}}}}}'
    )


def bad_spec(stack: Stack, case: str, nodes: int) -> None:
    """A job with a bad spec on so many nodes is refused."""
    text, words = SPECS[case]
    began = time.monotonic()
    job = stack.submit(spec_text(stack, text), f"-N{nodes}", "--gpus-per-node=2")
    refused(stack, job, words, began)
    command = f"bridgectl check {job.directory}/job.yaml -N{nodes} --gpus-per-node=2 2>&1; echo exit $?"
    said = stack.exec("login", "sh", "-c", command, user=job.user)
    assert words in said and said.endswith("exit 1\n"), "the same before sbatch"


@pytest.fixture(scope="module")
def hasty(running_stack: Stack) -> Iterator[None]:
    """A node other than the batch node waits the default of 10 s for a workload, in vain; here it waits a second."""
    with running_stack.configured(timing={"member_patience": 1}):
        yield


@pytest.mark.parametrize("case", SPECS)
def test_bad_spec(stack: Stack, case: str) -> None:
    bad_spec(stack, case, 1)


def test_bad_spec_of_two_nodes(stack: Stack) -> None:
    bad_spec(stack, "unknown-field", 2)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("case", SPECS)
def test_bad_spec_of_two_hasty_nodes(stack: Stack, case: str) -> None:
    bad_spec(stack, case, 2)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("nodes", [1, 2])
def test_file_missing(stack: Stack, nodes: int) -> None:
    began = time.monotonic()
    job = stack.submit(None, f"-N{nodes}", "--comment=k8s=nothing.yaml")
    refused(stack, job, "nothing.yaml", began)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("nodes", [1, 2])
def test_file_of_somebody_else(stack: Stack, nodes: int) -> None:
    """The hook reads as the job's user: what they may not read, a job of theirs can't use."""
    stack.write("/home/other/private/secret.yaml", container_job(stack.images["small"], "true"), "other", "600")
    stack.sh("login", "chmod 755 /home/other /home/other/private")
    began = time.monotonic()
    job = stack.submit(None, f"-N{nodes}", "--comment=k8s=/home/other/private/secret.yaml")
    refused(stack, job, "secret.yaml", began)


_QUOTA = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: tight}
spec: {hard: {requests.nvidia.com/gpu: "1"}}
"""


@pytest.mark.parametrize("nodes", [1, 2])
def test_quota_that_only_the_api_server_knows(stack: Stack, nodes: int) -> None:
    stack.kubectl("-n", stack.namespace, "apply", "-f", "-", stdin=_QUOTA)
    try:
        eventually(lambda: stack.objects("resourcequotas")[0].get("status", {}).get("hard"), 10, "quota")
        began = time.monotonic()
        job = stack.submit(container_job(stack.images["small"], "true"), f"-N{nodes}", "--gpus-per-node=2")
        refused(stack, job, "quota", began)
    finally:
        stack.kubectl("-n", stack.namespace, "delete", "resourcequota", "tight")


def test_some_gpus_of_a_node(stack: Stack) -> None:
    began = time.monotonic()
    job = stack.submit(container_job(stack.images["small"], "true"), "-N1", "--gpus-per-node=1")
    refused(stack, job, "1 of the 2 GPUs", began)


def test_heterogeneous_job(stack: Stack) -> None:
    directory = stack.new_directory("ml", "het")
    stack.write(f"{directory}/job.yaml", container_job(stack.images["small"], "true"))
    part = ("--comment=k8s=job.yaml", "-N1")
    words = ["sbatch", "--parsable", f"--chdir={directory}", f"--output={directory}/out", *part, ":", *part]
    number = stack.exec("login", *words, stdin="#!/bin/sh\ntrue\n", user="ml")
    job = Job(int(number.split(";")[0]), "ml", f"{directory}/out", directory)
    eventually(lambda: stack.state(job) == "CANCELLED", 20, "het job cancelled")
    stack.await_idle(15)
    leader = stack.exec("login", "scontrol", "show", "job", f"{job.id}+0")  # of all components it would be the last
    assert "k8s: failed: a heterogeneous job cannot use the bridge" in leader
    assert "heterogeneous" in stack.output(job)


def test_salloc(stack: Stack) -> None:
    directory = stack.new_directory("ml", "salloc")
    stack.write(f"{directory}/job.yaml", container_job(stack.images["small"], "true"))
    script = f"cd {directory} && salloc -N1 --comment=k8s=job.yaml true 2>&1; squeue -h; true"
    said = stack.exec("login", "sh", "-c", script, user="ml")
    number = int(said.split("allocation ")[1].split()[0].rstrip("."))
    job = Job(number, "ml", f"{directory}/out", directory)
    stack.await_idle(15)
    assert "salloc and srun cannot use the bridge" in stack.comment(job), said
    assert stack.state(job) == "CANCELLED"


def test_attach_in_a_job_that_is_no_bridge_job(stack: Stack) -> None:
    """It is told at once: in not much more than it takes to ask for the version."""
    script = "TIMEFORMAT='took %R'; time bridgectl --version; time bridgectl attach; code=$?; exit $code"
    job = stack.run(None, "-N1", "--comment=k8=job.yaml", script=script)
    assert "is no bridge job" in stack.output(job)
    least, seconds = (float(line.split()[1]) for line in stack.output(job).splitlines() if line.startswith("took "))
    assert seconds < 4 * least + 1
    assert stack.state(job) == "FAILED"
