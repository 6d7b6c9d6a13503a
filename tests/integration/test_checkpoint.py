"""A training that is asked for a checkpoint by a signal, is put back into the queue, and goes on from there."""

import re
from typing import Any

import pytest

from .rows import applied
from .specs import container_job
from .stack import Stack, eventually

_PROGRAM = """
import os, signal, sys, time
import torch

rank = os.environ["RANK"]
path = f"{os.path.dirname(sys.argv[0])}/rank-{rank}.pt"
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step, last, asked = 0, 10**9, []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
if os.path.exists(path):
    state = torch.load(path)
    model.load_state_dict(state["model"])
    step = state["step"]
    last = step + 3
    print(f"rank {rank} goes on from step {step} with weight {model.weight.sum():.6f}")
else:
    print(f"rank {rank} begins anew")
while step < last:
    inputs = torch.randn(8, 4)
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    if asked:
        asked.clear()
        torch.save({"model": model.state_dict(), "step": step}, f"{path}.new")
        os.replace(f"{path}.new", path)
        print(f"rank {rank} has saved step {step} with weight {model.weight.sum():.6f}")
    time.sleep(0.1)
"""


def homes(stack: Stack) -> tuple[dict[str, Any], dict[str, Any]]:
    """The homes that all nodes share, and a claim on them."""
    here = {"name": "home", "namespace": stack.namespace}
    both = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    size = {"storage": "1Gi"}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "home"}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": here}
    given = {**both, "capacity": size, "hostPath": {"path": "/home"}, "claimRef": here}
    wanted = {**both, "resources": {"requests": size}, "volumeName": "home"}
    return volume | {"spec": given}, claim | {"spec": wanted}


@pytest.mark.timeout(300)
def test_it_goes_on_from_its_checkpoint_after_a_requeue(stack: Stack) -> None:
    where = stack.new_directory("ml", "checkpoint")
    stack.write(f"{where}/train.py", _PROGRAM)
    spec = container_job(stack.images["train"], f"exec python3 {where}/train.py", volumes=["home"])
    volumes = {"home": {"claim": "home", "mount_path": "/home"}}
    with applied(stack, *homes(stack)), stack.configured(volumes=volumes):
        job = stack.submit(spec, "-N2", "-n2", "--requeue", "--open-mode=append")
        eventually(lambda: stack.output(job).count("begins anew") == 2, 120, "both ranks at work")
        stack.exec("login", "scancel", "--batch", "--signal=USR1", str(job.id), user="ml")
        eventually(lambda: stack.output(job).count("has saved") == 2, 60, "a checkpoint of each rank")
        stack.exec("login", "scontrol", "requeue", str(job.id), user="ml")
        eventually(lambda: "Slurm ended the job while its training ran" in stack.output(job), 60, "the first run's end")
        stack.await_end(job, 180)
    output = stack.output(job)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0", output
    saved = re.findall(r"rank (\d) has saved (step \d+ with weight \S+)", output)
    assert sorted(re.findall(r"rank (\d) goes on from (step \d+ with weight \S+)", output)) == sorted(saved), output
    assert "its training ran: requeued" in output and "SIGUSR1 was sent to 2 processes of the ranks" in output
