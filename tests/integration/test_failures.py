"""Training that fails: the right code, the reason, the last line, and a node that stays in service."""

import pytest

from .specs import container_job, training
from .stack import Job, Stack

_RANK_ONE = """
trap 'exit 143' TERM
if [ "$RANK" = 1 ]; then echo "the last line of job $SLURM_JOB_ID"; sleep 0.1; exit 3; fi
sleep 300 & wait
"""


def test_one_rank_exits_3(stack: Stack) -> None:
    arguments = ("--epochs", "2", "--exit-code", "3", "--exit-rank", "1", "--peer-loss", "hang")
    job = stack.run(training(stack.images["train"], *arguments), "-N2", "--gpus-per-node=2", seconds=90)
    assert stack.sacct(job, "State,ExitCode") == "FAILED|3:0", stack.output(job)
    sentence = "failed: rank 1 on compute2 exited 3"
    assert f"slurm-k8s-bridge: {sentence}" in stack.output(job)
    assert f"k8s: {sentence}" in stack.comment(job)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("script", "code"), [("true", "0:0"), ("false", "1:0"), (_RANK_ONE, "3:0")], ids=["true", "false", "rank-1-exits-3"]
)
def test_quick_ends_twenty_times(stack: Stack, script: str, code: str) -> None:
    spec = container_job(stack.images["small"], script)
    jobs: list[Job] = [stack.submit(spec, "-N2", "-n2", "--mem=512M") for _ in range(20)]  # two at a time
    stack.await_ended(jobs, 300)
    stack.await_idle(30)
    assert [stack.sacct(job, "ExitCode") for job in jobs] == [code] * 20
    if script == _RANK_ONE:
        for job in jobs:
            assert f"the last line of job {job.id}\n" in stack.output(job)
            assert "rank 1 on compute2 exited 3" in stack.output(job)
