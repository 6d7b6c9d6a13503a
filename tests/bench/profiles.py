"""Where the daemon's time and memory go: flame graphs of figures that are furthest from their bounds."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.integration.stack import Stack, eventually

from . import flame, table
from .figure import Figure
from .fleet import fleet
from .processors import children, first_process
from .results import Result
from .world import World

_WORST = 3
_RATE = 250  # looks a second
_MOST = 64  # nodes of a run that is profiled: of more, each waits for this machine above all
_JOB = 900


def worst(figures: Sequence[Figure], results: Mapping[str, Result]) -> list[Figure]:
    """Those of the daemon's work that are furthest beyond their bounds, or nearest to them."""
    known = [figure for figure in figures if 0 < figure.nodes <= _MOST and figure.name in results]
    return sorted(known, key=lambda figure: -_share(figure, results[figure.name]))[:_WORST]


def _share(figure: Figure, result: Result) -> float:
    """The largest part of a bound that is used."""
    judged = table.judged(figure, result)
    return max((each.value / each.limit for each in judged if each.value is not None and each.limit), default=0.0)


def keep(figure: Figure, world: World, folder: Path) -> None:
    """Both profiles of a figure, in this folder; what is there already stays."""
    processor, memory = folder / f"{figure.name}-cpu.svg", folder / f"{figure.name}-memory.svg"
    if not processor.exists():
        with figure.measuring(world) as one_round, _recorded(_daemons(world), processor):
            one_round(0)
    if not memory.exists():
        graph = flame.svg(f"bridged of rank 0, {figure.nodes} nodes", "kB", _memory(world, figure.nodes))
        memory.write_text(graph, encoding="utf-8")


@contextmanager
def _recorded(process: int, file: Path) -> Iterator[None]:
    """While it holds the interpreter, its children too."""
    spy = shutil.which("py-spy")
    assert spy
    options = ["--gil", "--nonblocking", "--subprocesses", f"--rate={_RATE}", f"--output={file}"]
    with subprocess.Popen([spy, "record", *options, f"--pid={process}"], stdout=subprocess.DEVNULL) as recorder:
        try:
            yield
        finally:
            recorder.send_signal(signal.SIGINT)  # it writes then
            recorder.wait()
    assert file.exists(), "py-spy has written nothing"


def _daemons(world: World) -> int:
    """Of a fleet, where the figure has one; else the node's own."""
    ours = [process for process in children(os.getpid()) if "tests.bench.daemons" in _words(process)]
    return ours[0] if ours else _of_node(world.stack, world.node)


def _of_node(stack: Stack, node: str) -> int:
    """The daemon's number here, outside of its container."""
    inner, first = stack.main_pid(node), first_process(stack.container(node))
    space = Path(f"/proc/{first}/ns/pid").readlink()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            numbers = re.findall(r"^NSpid:.*\t(\d+)$", status.read_text(encoding="utf-8"), re.MULTILINE)
            if numbers == [inner] and (status.parent / "ns/pid").readlink() == space:
                return int(status.parent.name)
        except OSError:
            continue  # it has ended
    raise AssertionError(f"no bridged on {node}")


def _words(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8").split("\0")


def _memory(world: World, count: int) -> dict[flame.Stack, float]:
    """Kilobytes that rank 0 holds while a run of so many nodes trains, by where they were taken."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traced"
        with fleet(world.stack, count, traced=file) as nodes:
            nodes.hooks("prolog", _JOB)
            os.kill(nodes.daemons()[0], signal.SIGUSR1)
            eventually(file.exists, 60, "traces of memory")
            nodes.hooks("epilog", _JOB)
        return {tuple(frames): size / 1000 for frames, size in json.loads(file.read_text(encoding="utf-8"))}
