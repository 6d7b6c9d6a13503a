"""How fast output comes through `bridgectl attach`, beside `kubectl logs -f` of the same pod at the same time."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.integration.rows import manifest
from tests.integration.stack import Job, eventually

from ..figure import Bound, Figure, Measured, Round
from ..world import PROBES, World

_LINES = 40
_FLOOD = 6_000_000  # bytes: the kubelet keeps ten million of a log before it begins another file
_SCRIPT = "bridgectl attach | python3 lines.py >told.json"
_TALK = (PROBES / "talk.py").read_text(encoding="utf-8")


def _measuring(columns: Callable[[str, Any], Measured]) -> Callable[[World], Any]:
    @contextmanager
    def measuring(world: World) -> Iterator[Round]:
        """Both read the same pod, which talks when both do."""

        def one_round(_number: int) -> Measured:
            job = _submitted(world)
            pod = f"slurm-demo-{job.id}-0-worker-0"
            stack = world.stack
            begun = f"test -e {job.directory}/told.json && echo yes"
            eventually(lambda: stack.sh("login", begun, check=False), 90, f"training of job {job.id}")
            with _following(world, pod) as reader:
                stack.let_go(job)
                told, _ = reader.communicate(timeout=180)
            stack.await_end(job, 90)
            ours = json.loads(stack.exec("login", "cat", f"{job.directory}/told.json"))
            return {**columns("attach", ours), **columns("kubectl logs -f", json.loads(told))}

        yield one_round

    return measuring


def _submitted(world: World) -> Job:
    stack = world.stack
    talk = ("python3", "-c", _TALK, str(_LINES), str(_FLOOD))
    spec = manifest(stack, *talk, image=stack.images["train"])
    directory = stack.new_directory("ml", "bench")
    stack.write(f"{directory}/job.yaml", spec)
    stack.write(f"{directory}/lines.py", (PROBES / "lines.py").read_text(encoding="utf-8"))
    options = ["--comment=k8s=job.yaml", f"--nodelist={world.node}", "-N1", f"--chdir={directory}", "--output=out"]
    number = stack.exec("login", "sbatch", "--parsable", *options, stdin=f"#!/bin/bash\n{_SCRIPT}\n", user="ml")
    return Job(int(number), "ml", f"{directory}/out", directory)


@contextmanager
def _following(world: World, pod: str) -> Iterator[subprocess.Popen[str]]:
    """kubectl beside it; whoever reads is the same program."""
    followed = world.stack.kubectl_command("-n", world.stack.namespace, "logs", "-f", pod)
    reader = [sys.executable, "-I", str(PROBES / "lines.py")]
    with (
        subprocess.Popen(followed, stdout=subprocess.PIPE) as kubectl,
        subprocess.Popen(reader, stdin=kubectl.stdout, stdout=subprocess.PIPE, text=True) as lines,
    ):
        assert kubectl.stdout is not None
        kubectl.stdout.close()  # the reader's alone
        try:
            yield lines
        finally:
            kubectl.terminate()


def _latency(name: str, told: Any) -> Measured:
    return {name: [seconds * 1000 for seconds in _all(told["late"])]}


def _all(late: Sequence[float]) -> Sequence[float]:
    assert len(late) == _LINES, f"{len(late)} of {_LINES} lines have come"
    return late


def _flood(name: str, told: Any) -> Measured:
    assert told["flood"] > 0, "the end of the flood has not come"
    return {name: [told["flood"]]}


LATENCY = Figure(
    name="attach-latency",
    what="a line of the training until it is in the job's output",
    unit="ms",
    measuring=_measuring(_latency),
    rounds=3,
    bounds=(Bound("attach", than="kubectl logs -f", times=1, plus=25, why="two more programs hand it on"),),
)
FLOOD = Figure(
    name="attach-flood",
    what=f"{_FLOOD / 1e6:.0f} MB of output at once until the last line is in the job's output",
    unit="s",
    measuring=_measuring(_flood),
    bounds=(Bound("attach", than="kubectl logs -f", times=1.5, why="two more programs hand it on"),),
)
