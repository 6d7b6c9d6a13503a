"""Ten thousand runs through one daemon: `make soak`. Not a part of `make test`.

The node is imitated by KWOK; daemon, hooks, credential, policies and API server are real. An hour on a quiet machine;
SKB_RUNS=NUMBER for fewer.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.bench.fleet import Fleet, fleet

from ..stack import Stack

_RUNS = int(os.environ.get("SKB_RUNS", "10000"))
_KEPT = 250  # runs until the journal has as many as it keeps: so far memory may grow
_AT_ONCE = 4
_BLOCK = max(10, _RUNS // 40)  # runs between two looks at the daemon at rest
_FIRST = 700_000  # numbers of jobs that no Slurm has given
_RESIDENT = 80.0  # megabytes, of the design's budgets
_IDLE = 8  # connections that are kept, of as many as were once needed at the same time
_MORE = 4.0  # megabytes more than at first that are no leak: a heap is not the same twice


@dataclass(frozen=True)
class Look:
    """The daemon after so many runs."""

    runs: int
    megabytes: float
    threads: int
    files: int
    sockets: int


def test_memory_threads_and_files_stay_what_they_are(stack: Stack) -> None:
    with fleet(stack, 1) as node:
        looks = list(_looks(node, _RUNS))
    first = next(look for look in looks if look.runs >= min(_KEPT, _RUNS // 2))
    last = looks[-1]
    assert max(look.megabytes for look in looks) <= _RESIDENT
    assert last.megabytes <= first.megabytes + _MORE
    assert last.threads <= first.threads
    assert last.files <= first.files
    assert last.sockets <= first.sockets + _IDLE


def _looks(node: Fleet, runs: int) -> Iterator[Look]:
    """One at the start, and one after each block of runs."""
    yield _looked(node, 0)
    with ThreadPoolExecutor(_AT_ONCE) as hands:
        for begun in range(0, runs, _BLOCK):
            count, at = min(_BLOCK, runs - begun), time.monotonic()
            jobs = range(_FIRST + begun, _FIRST + begun + count)
            list(hands.map(lambda job: [node.hooks(phase, job) for phase in ("prolog", "epilog")], jobs))
            seconds = time.monotonic() - at
            look = _looked(node, begun + count)
            print(
                f"{look.runs} runs: {look.megabytes:.1f} MB, {look.threads} threads, {look.files} files, "
                f"{look.sockets} sockets, {count / seconds:.1f} runs a second",
                flush=True,
            )
            yield look


def _looked(node: Fleet, runs: int) -> Look:
    """The least of some seconds: what belongs to a run that is over may end a moment later."""
    looks = [_now(node, runs)]
    for _ in range(3):
        time.sleep(1)
        looks.append(_now(node, runs))
    least = [min(getattr(look, what) for look in looks) for what in ("threads", "files", "sockets")]
    return Look(runs, looks[-1].megabytes, *least)


def _now(node: Fleet, runs: int) -> Look:
    (daemon,) = node.daemons()
    place = Path(f"/proc/{daemon}")
    lines = place.joinpath("status").read_text(encoding="ascii").splitlines()
    told = dict(line.split(":", 1) for line in lines)
    resident, threads = int(told["VmRSS"].split()[0]) * 1024 / 1e6, int(told["Threads"])
    open_ones = [name for file in place.joinpath("fd").iterdir() if (name := _opened(file))]
    sockets = sum(name.startswith("socket:") for name in open_ones)
    return Look(runs, resident, threads, len(open_ones) - sockets, sockets)


def _opened(descriptor: Path) -> str:
    """What it is of; '' where it has been closed since it was listed."""
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""
