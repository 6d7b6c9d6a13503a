"""Law 3: kill -9 of the daemon changes nothing but its pid."""

from .specs import container_job
from .stack import NODES, Stack, eventually

_COUNT = "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); sleep 0.1; done"


def always_pulled(image: str, script: str) -> str:
    """A spec whose image is asked for at the registry every time."""
    return (
        '{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}, "spec": '
        '{"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "pytorch", '
        f'"image": "{image}", "imagePullPolicy": "Always", "command": ["sh", "-c", "{script}"]}}]}}}}}}}}}}}}'
    )


def test_in_the_middle_of_the_prologs_wait(stack: Stack) -> None:
    with stack.registry_answering("hang"):
        job = stack.submit(always_pulled(stack.images["small"], "echo done"), "-N2", "--gpus-per-node=2")
        eventually(lambda: len(stack.names("pods")) == 2 and _scheduled(stack) == 2, 30, "pods waiting for their image")
        for node in NODES:
            stack.kill_daemon(node)
        assert stack.show(job)["Reason"] == "Prolog"
    stack.await_end(job, 90)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert stack.output(job) == "done\ndone\n"
    assert "2/2 ranks exited 0" in stack.comment(job)


def test_in_the_middle_of_training(stack: Stack) -> None:
    job = stack.submit(container_job(stack.images["small"], _COUNT), "-N1", "-w", "compute1", "--gpus-per-node=2")
    eventually(lambda: "line 10\n" in stack.output(job), 30, "training")
    stack.kill_daemon("compute1")
    stack.await_end(job)
    assert stack.sacct(job, "State,ExitCode") == "COMPLETED|0:0"
    assert stack.output(job) == "".join(f"line {number}\n" for number in range(100))
    assert "1/1 ranks exited 0" in stack.comment(job), "the next daemon got a token from attach"


def test_in_the_middle_of_the_epilog(stack: Stack) -> None:
    stubborn = container_job(stack.images["small"], "trap '' TERM; echo here; while :; do sleep 1; done")
    job = stack.submit(stubborn, "-N2", "--gpus-per-node=2")
    eventually(lambda: stack.output(job).count("here") == 2, 30, "training")
    stack.exec("login", "scancel", str(job.id), user="ml")
    eventually(lambda: "comp" in stack.node_states()["compute1"], 20, "completing")
    for node in NODES:
        stack.kill_daemon(node)
    stack.await_idle(60)
    assert stack.state(job) == "CANCELLED"


def _scheduled(stack: Stack) -> int:
    return sum(1 for pod in stack.objects("pods") if pod["spec"].get("nodeName"))
