"""Daemons that have been at work for months: they have kept as many released runs as they keep, and each one more makes
them forget the oldest."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bridge.engine import events
from bridge.engine.ledger import KEPT_RUNS
from bridge.engine.recover import key_text
from bridge.job.ids import RunKey
from bridge.store.journal import FILE, Journal, Line
from tests.integration.stack import Stack

from .agent import DAEMONS

_FIRST = 60_000_000  # the number of a job that no stack comes to
_ASIDE = f"{DAEMONS}/../aside"
_CLUSTER = "demo"  # of the stack
_OWNER = "slurm-k8s-bridge"


def fill(folder: Path, cluster: str) -> None:
    """A journal there that has so many runs, each released by its epilog."""
    released = (events.PodsClear(1.0), events.Scanned(1.0, ()))
    with closing(Journal(folder)) as journal:
        for number in range(_FIRST, _FIRST + KEPT_RUNS):
            key = RunKey(cluster, number, 0)
            told = (events.EpilogBegan.bare(1.0, key, None, awaited=False), *released)
            journal.append(Line(key_text(key), events.to_json(event), 1.0) for event in told)


@contextmanager
def full_journals(stack: Stack) -> Iterator[None]:
    """On every node, as long as this lasts; what its journal had is there again in the end."""
    with tempfile.TemporaryDirectory() as made:
        fill(Path(made), _CLUSTER)
        try:
            for node in stack.nodes:
                copy = ["docker", "cp", "-q", f"{made}/{FILE}", f"{stack.container(node)}:/root/{FILE}"]
                subprocess.run(copy, check=True)
                take = f"install -o {_OWNER} -g {_OWNER} -m 0600 /root/{FILE} {DAEMONS}/; rm /root/{FILE}"
                _while_it_stands(stack, node, f"mkdir {_ASIDE}; mv {DAEMONS}/{FILE}* {_ASIDE}/; {take}")
            yield
        finally:
            for node in stack.nodes:
                back = f"rm -f {DAEMONS}/{FILE}*; mv {_ASIDE}/{FILE}* {DAEMONS}/; rmdir {_ASIDE}"
                _while_it_stands(stack, node, f"[ ! -d {_ASIDE} ] || {{ {back}; }}")


def _while_it_stands(stack: Stack, node: str, words: str) -> None:
    stack.sh(node, f"set -e; systemctl stop {_OWNER}; {words}; systemctl start {_OWNER}")
