"""Ten minutes without an API server while jobs end: `make outage`, on eight nodes. Not a part of `make test`."""

import os
import threading
import time

from ..specs import container_job
from ..stack import Job, Stack, eventually

SECONDS = float(os.environ.get("SKB_OUTAGE", "600"))
BACK = 60  # seconds within which all nodes are idle again


class Watch:
    """Looks at the nodes all the time; ``drained`` has every drain that it saw."""

    def __init__(self, stack: Stack) -> None:
        self.drained: set[str] = set()
        self._stack = stack
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch")

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(1):
            states = self._stack.node_states()
            self.drained |= {f"{node} {state}" for node, state in states.items() if "drain" in state}


def training(stack: Stack, node: str, script: str) -> Job:
    """A job that holds both GPUs of this node."""
    return stack.submit(container_job(stack.images["small"], script), "-N1", f"--nodelist={node}", "--gpus-per-node=2")


def test_no_node_is_drained_and_all_come_back(stack: Stack) -> None:
    half = len(stack.nodes) // 2
    cancelled = [training(stack, node, "sleep 3600") for node in stack.nodes[:half]]
    ending = [training(stack, node, "sleep 60") for node in stack.nodes[half:]]
    for job in cancelled + ending:
        eventually(lambda job=job: "pods ready" in stack.comment(job), 120, f"job {job.id} runs")  # type: ignore[misc]
    with Watch(stack) as watch:
        with stack.stopped("kube-apiserver"):
            began = time.monotonic()
            stack.exec("login", "scancel", *[str(job.id) for job in cancelled], user="ml")
            eventually(lambda: list(stack.node_states().values()).count("completing") == half, 60, "epilogs wait")
            while time.monotonic() < began + SECONDS:
                print(f"{time.monotonic() - began:.0f} s of {SECONDS:.0f} s: {stack.node_states()}", flush=True)
                threading.Event().wait(min(30.0, began + SECONDS - time.monotonic()))
            assert list(stack.node_states().values()).count("completing") == half, "law 1: unknown is not gone"
        back = time.monotonic()
        eventually(lambda: set(stack.node_states().values()) == {"idle"}, BACK, "all nodes idle")
        print(f"all {len(stack.nodes)} nodes idle {time.monotonic() - back:.1f} s after the API server's return")
    assert not watch.drained
    stack.await_ended(cancelled + ending, 30)
    assert {stack.state(job) for job in cancelled} == {"CANCELLED"}
    assert {stack.state(job) for job in ending} == {"COMPLETED"}
