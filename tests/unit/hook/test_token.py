"""Minting: whose token, for how long, and what is said when there is none."""

import os
import time

import pytest

from bridge.hook import token
from bridge.hook.job import Job
from bridge.hook.paths import Paths
from tests.unit.hook.stage import Stage


def mint(stage: Stage, seconds: float = 5, **more: str) -> str:
    env = {os.fsencode(name): os.fsencode(value) for name, value in stage.job(**more).items()}
    return token.Mint(Job(env), 1000.0, Paths(scontrol=str(stage.scontrol)), seconds).collect()


@pytest.mark.parametrize(
    ("end", "seconds"),
    [(4600, 4500), (1060, 1800), (10**9, 86400), (None, 1800)],
)
def test_lifespan(end: int | None, seconds: int) -> None:
    assert token.lifespan(end, 1000.5) == seconds


def test_scontrol_gets_an_environment_of_three(stage: Stage) -> None:
    stage.scontrol_says('echo "SLURM_JWT=$(/usr/bin/env | /usr/bin/sort | /usr/bin/tr "\\n" " ")"')
    said = mint(stage, SLURM_CONF="/run/slurm/conf/slurm.conf")
    assert said.replace("PWD=/", "").replace("_=/usr/bin/env", "").split() == [
        "LC_ALL=C",
        "PATH=/usr/bin:/bin",
        "SLURM_CONF=/run/slurm/conf/slurm.conf",
    ]


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 1", "scontrol token said: nothing"),
        ("echo token disabled by configuration >&2; exit 1", "said: token disabled by configuration"),
        ("echo SLURM_JWT=", "said: nothing"),
    ],
)
def test_no_token_is_one_sentence(stage: Stage, script: str, sentence: str) -> None:
    stage.scontrol_says(script)
    with pytest.raises(token.NoTokenError, match=sentence):
        mint(stage)


def test_a_hanging_controller_costs_the_time_out(stage: Stage) -> None:
    stage.scontrol_says("exec /bin/sleep 60")
    began = time.monotonic()
    with pytest.raises(token.NoTokenError, match="is slurmctld up"):
        mint(stage, seconds=0.2)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("user", ["root", "slurm", "", "-x", "a b", "a=b", "a\nb"])
def test_owners_that_no_token_is_minted_for(stage: Stage, user: str) -> None:
    stage.scontrol_says("echo SLURM_JWT=mighty")
    with pytest.raises(token.NoTokenError):
        mint(stage, SLURM_JOB_USER=user)


def test_root_gets_none_by_another_name(stage: Stage) -> None:
    stage.scontrol_says("echo SLURM_JWT=mighty")
    with pytest.raises(token.NoTokenError):
        mint(stage, SLURM_JOB_USER="toor", SLURM_JOB_UID="0")


def test_without_scontrol(stage: Stage) -> None:
    with pytest.raises(token.NoTokenError):
        mint(stage)


def test_a_hook_and_its_children_leave_no_core_dump(stage: Stage) -> None:
    """Whatever slurmd's own limit is; its default unit has none."""
    stage.scontrol_says(
        "while read line; do case $line in *core*) echo SLURM_JWT=$line;; esac; done < /proc/self/limits"
    )
    stage.daemon_starts()
    hook = stage.hook("prolog", stage.job())
    chat = stage.accepts()
    limits = chat.hears()["token"]
    assert limits in ("Max core file size 1 1 bytes", "Max core file size 0 0 bytes")
    chat.says("answer", exit=0)
    assert hook.ends() == (0, "")
