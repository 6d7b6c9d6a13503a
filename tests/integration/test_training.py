"""The main job: torch DDP on exactly the allocated nodes, its output and exit code in Slurm."""

import re

import pytest

from .specs import container_job, pytorch_job, training
from .stack import NODES, Stack, eventually

_ARGUMENTS = ("--epochs", "3", "--steps", "5")


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("form", [pytorch_job, training])
def test_ddp(stack: Stack, form: type, nodes: int) -> None:
    spec = form(stack.images["train"], *_ARGUMENTS)
    with stack.watching_pods() as watch:
        job = stack.run(spec, f"-N{nodes}", "--gpus-per-node=2", "--exclusive", seconds=120)
    output = stack.output(job)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0", output
    ranks = re.findall(r"rank (\d+) of (\d+) on (\S+)", output)
    assert sorted(set(ranks)) == [(str(rank), str(nodes), NODES[rank]) for rank in range(nodes)], output
    losses = [float(each) for each in re.findall(r"\bloss[ =:]+([0-9.]+)", output)]
    assert len(losses) >= 3 and losses[-1] < losses[0], output
    # A pod that the operator makes again in the moment between pod's and workload's deletion stays behind its gate.
    assert {name.rsplit("-", 1)[1]: places for name, places in watch.places.items()} == {
        str(rank): {NODES[rank]} for rank in range(nodes)
    }
    where = "compute1" if nodes == 1 else "compute[1-2]"
    assert f"{nodes}/{nodes} ranks exited 0" in stack.comment(job)
    assert stack.comment(job).startswith("k8s=job.yaml | k8s: ")
    assert stack.show(job)["NodeList"] == where


def test_the_comment_says_when_the_pods_were_ready(stack: Stack) -> None:
    spec = container_job(stack.images["small"], "sleep 3")
    job = stack.submit(spec, "-N2")
    stack.await_state(job, "RUNNING")
    with stack.watching_pods() as watch:
        watch.await_ready(2, 20)
    eventually(lambda: "pods ready" in stack.comment(job), 5, "report")
    assert re.search(r"k8s: 2/2 pods ready on compute\[1-2\] after \d+\.\d s$", stack.comment(job))
    stack.await_end(job)
