"""The training's exit code, as Slurm shows it afterwards."""

import pytest

from .specs import container_job
from .stack import Stack


@pytest.mark.timeout(300)
def test_slurm_shows_what_the_table_says(stack: Stack) -> None:
    scripts = {0: "true", 1: "false", 3: "exit 3", 75: "exit 75", 129: "exit 129", 200: "exit 200", 255: "exit 255"}
    scripts |= {128 + number: f"sh -c 'kill -{number} $$'; exit $?" for number in (6, 9, 11, 15)}
    jobs = {
        code: stack.submit(container_job(stack.images["small"], script), "-N1", "-n1", "--mem=512M")
        for code, script in scripts.items()
    }
    stack.await_ended(list(jobs.values()), 200)
    stack.await_idle(60)
    for code, job in jobs.items():
        print(code, stack.sacct(job, "State,ExitCode"), stack.show(job)["ExitCode"], stack.output(job))
