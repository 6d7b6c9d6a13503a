"""scancel, in training and while the prolog waits: everything gone at once, nodes free."""

import sys

from .pod_watch import PodWatch
from .specs import container_job, training
from .stack import NODES, Job, Stack, eventually


def released_at_once(stack: Stack, job: Job, watch: PodWatch, nodes: int) -> None:
    """Every epilog ended at most a second after its node's pod was seen gone, by a watcher of our own; that of the
    batch node begins when Slurm has seen its script end, for which it looks once a second."""
    stack.await_ended([job], 60)
    stack.await_idle(60)
    with watch.changed:
        assert watch.changed.wait_for(lambda: len(watch.gone) >= nodes, 10), watch.gone
    for name, gone in watch.gone.items():
        node = NODES[int(name.rsplit("-", 1)[1])]
        began, answered = stack.epilog_began(node, job), stack.epilog_answered(node, job)
        print(f"{node}: epilog from {began - gone:+.2f} to {answered - gone:+.2f} s of its pod's end", file=sys.stderr)
        assert answered - max(gone, began) <= 1.0


def test_while_training(stack: Stack) -> None:
    spec = training(stack.images["train"], "--epochs", "1000", "--pause", "1")
    with stack.watching_pods() as watch:
        job = stack.submit(spec, "-N2", "--gpus-per-node=2")
        eventually(lambda: "loss" in stack.output(job), 60, "training")
        stack.exec("login", "scancel", str(job.id), user="ml")
        released_at_once(stack, job, watch, 2)
    assert stack.state(job) == "CANCELLED"


def test_while_the_prolog_waits_for_an_image_that_does_not_exist(stack: Stack) -> None:
    spec = container_job("registry:5000/skb/nothing:1", "true")
    with stack.watching_pods() as watch:
        job = stack.submit(spec, "-N2", "--gpus-per-node=2")
        eventually(lambda: _waiting(stack) & {"ErrImagePull", "ImagePullBackOff"}, 30, "pull error")
        stack.exec("login", "scancel", str(job.id), user="ml")
        released_at_once(stack, job, watch, 2)
    assert stack.state(job) == "CANCELLED"
    assert stack.show(job)["Restarts"] == "0"


def test_an_image_that_does_not_exist_is_told(stack: Stack) -> None:
    job = stack.run(container_job("registry:5000/skb/nothing:1", "true"), "-N2", "--gpus-per-node=2", seconds=60)
    assert stack.state(job) == "CANCELLED"
    assert "image registry:5000/skb/nothing:1 does not exist in its registry" in stack.output(job)


def _waiting(stack: Stack) -> set[str]:
    statuses = [status for pod in stack.objects("pods") for status in pod["status"].get("containerStatuses", [])]
    return {status["state"].get("waiting", {}).get("reason", "") for status in statuses}
