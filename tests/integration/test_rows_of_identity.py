"""Rows of a node that is not the one in Kubernetes that it thinks: it drains itself alone, and its job waits for
another one."""

from .nodes import drained_alone
from .rows import meets
from .specs import container_job
from .stack import Stack

_HASTY = {"node_patience": 2.0}


def test_a_node_that_kubernetes_does_not_know_and_one_that_is_another(stack: Stack) -> None:
    for node, name, row, reason in (
        ("compute1", "absent", "node-unknown", "Kubernetes has no Node absent for this machine"),
        ("compute2", "compute1", "node-foreign", "the Node compute1 is another machine than this one"),
    ):
        with stack.configured(node, cluster={"node_name": name}, timing=_HASTY):
            job = stack.submit(container_job(stack.images["small"], "true"), "-N1", "-w", node)
            drained_alone(stack, job, node, reason)
            assert meets(row, stack.comment(job)), stack.comment(job)
            stack.exec("login", "scancel", str(job.id), user="ml")
        stack.exec("slurmctld", "scontrol", "update", f"nodename={node}", "state=resume")
    job = stack.run(container_job(stack.images["small"], "true"), "-N2", "--gpus-per-node=2")
    assert stack.state(job) == "COMPLETED"
