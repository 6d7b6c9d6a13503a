"""The example cli_filter: sbatch refuses what the prolog would refuse, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .specs import container_job
from .stack import Stack

_EXAMPLE = Path(__file__).parents[2] / "packaging" / "examples" / "cli_filter.lua"
_CONF = "/etc/slurm/slurm.conf"


@pytest.fixture
def filtering(stack: Stack) -> Iterator[Stack]:
    """The login node has it, as its first lines say."""
    stack.put(_EXAMPLE, "login", "/etc/slurm/cli_filter.lua")
    stack.sh("login", f"cp -p {_CONF} {_CONF}.kept && echo CliFilterPlugins=lua >>{_CONF}")
    try:
        yield stack
    finally:
        stack.sh("login", f"mv {_CONF}.kept {_CONF}; rm /etc/slurm/cli_filter.lua")


def tried(stack: Stack, spec: str, *options: str) -> str:
    """What sbatch says, and its exit code."""
    directory = stack.new_directory("ml", "filtered")
    stack.write(f"{directory}/job.yaml", spec)
    stack.exec("login", "mv", f"{directory}/job.yaml", f"{directory}/it's.yaml")
    words = f"sbatch {' '.join(options)} --wrap 'exec bridgectl attach'"
    return stack.exec("login", "sh", "-c", f"cd {directory} && {words} 2>&1; echo exit $?", user="ml")


def test_it_refuses_what_the_prolog_would(filtering: Stack) -> None:
    privileged = container_job(filtering.images["small"], "true", privileged=True)
    for option in ("--comment", "--extra"):
        said = tried(filtering, privileged, f'{option}="k8s=it\'s.yaml"')
        assert "refused: privileged" in said
        assert said.endswith("exit 1\n")
    assert filtering.exec("login", "squeue", "--noheader") == ""


def test_it_passes_what_runs_and_what_is_not_ours(filtering: Stack) -> None:
    good = container_job(filtering.images["small"], "true")
    for options in (['--comment="mine k8s=it\'s.yaml"', "-N2"], ["--comment=mine"], []):
        said = tried(filtering, good, *options)
        assert said.startswith("Submitted batch job "), said
    filtering.await_idle(60)
