"""Processes that compute, and nothing else: how fast is Kubernetes while all nodes of a run share its processors?"""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from .hook import PYTHON

_PROGRAM = """
import os, sys, time
os.nice(int(sys.argv[2]))
while time.process_time() < float(sys.argv[1]):
    pass
"""


@dataclass(frozen=True)
class Load:
    """`seconds` of a processor for each of `processes`, the interpreter's own start among them."""

    processes: int
    seconds: float
    niceness: int


@contextmanager
def computing(load: Load) -> Iterator[None]:
    """All begin at once, as the hooks of a run do; ends when each has done its part."""
    words = [PYTHON, "-I", "-S", "-c", _PROGRAM, str(load.seconds), str(load.niceness)]
    with ExitStack() as undone:
        begun = [undone.enter_context(subprocess.Popen(words)) for _ in range(load.processes)]
        yield
    assert all(process.returncode == 0 for process in begun)
