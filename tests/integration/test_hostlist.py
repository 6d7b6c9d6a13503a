"""Rank order is Slurm's own order: our expander against `scontrol show hostnames`."""

import pytest

from bridge.slurm.hostlist import expand

from .stack import Stack

LISTS = [
    "compute[1-2]",
    "compute2,compute1",
    "n[3,1-2,8-10]",
    "rack[1-2]x",
    "b[09-11],a[1-3],b1",
    "cn[001-003,7,0010]",
    "r[1-2]n[3-4]",
    "x[1-2]-ib[0-1],y",
    "z,a,m[2,1]",
    "n[5-5]",
]


@pytest.mark.parametrize("text", LISTS)
def test_expansion_is_slurms(running_stack: Stack, text: str) -> None:
    theirs = running_stack.exec("login", "scontrol", "show", "hostnames", text).split()
    assert list(expand(text)) == theirs
