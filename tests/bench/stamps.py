"""When slurmd's hooks began and ended, as somebody between slurmd and the hook saw it."""

import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.integration.hands import EPILOG, PROLOG, before_hook
from tests.integration.stack import Job, Stack

_FILE = "/run/bench-stamps"
# Bash reads its clock without starting a program; it has started before the first look and ends after the last.
_STAMP = 'a=$EPOCHREALTIME; "$0"; c=$?; echo "{phase} $SLURM_JOB_ID $a $EPOCHREALTIME" >>{file}; exit $c'
_LINES = f"exec bash -c '{_STAMP}' $hook"
_TAIL = f"touch {_FILE} && echo $$ >{_FILE}.pid && exec tail -n +1 -F {_FILE}"


@dataclass(frozen=True)
class Span:
    """Seconds since the epoch."""

    began: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.ended - self.began


class Stamps:
    """What has been stamped so far."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, int], Span] = {}
        self._changed = threading.Condition()

    def take(self, node: str, line: str) -> None:
        """One line of a node's file."""
        phase, job, began, ended = line.split()
        with self._changed:
            self._seen[phase, node, int(job)] = Span(float(began), float(ended))
            self._changed.notify_all()

    def awaited(self, phase: str, node: str, job: Job, seconds: float = 120) -> Span:
        """The hook of a job on a node, once it has ended."""
        wanted = (phase, node, job.id)
        with self._changed:
            assert self._changed.wait_for(lambda: wanted in self._seen, seconds), f"no {phase} of {job.id} on {node}"
            return self._seen[wanted]

    def of_all(self, phase: str) -> list[Span]:
        """Every hook of this phase so far."""
        with self._changed:
            return [span for (its_phase, _, _), span in self._seen.items() if its_phase == phase]

    def await_count(self, phase: str, count: int, seconds: float = 300) -> None:
        """Until so many hooks of this phase have ended."""
        with self._changed:
            there = self._changed.wait_for(lambda: sum(key[0] == phase for key in self._seen) >= count, seconds)
            assert there, f"no {count} {phase}s"


@contextmanager
def stamped(stack: Stack) -> Iterator[Stamps]:
    """Every hook of every node is stamped meanwhile."""
    stamps = Stamps()
    with ExitStack() as undone:
        for node in stack.nodes:
            undone.enter_context(_read(stack, node, stamps))
            for phase, hook in (("prolog", PROLOG), ("epilog", EPILOG)):
                undone.enter_context(before_hook(stack, node, hook, _LINES.format(phase=phase, file=_FILE)))
        yield stamps


@contextmanager
def _read(stack: Stack, node: str, stamps: Stamps) -> Iterator[None]:
    command = ["docker", "exec", stack.container(node), "sh", "-c", _TAIL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=_take_all, args=(stamps, node, process.stdout), daemon=True)
        reader.start()
        try:
            yield
        finally:
            stack.sh(node, f"kill $(cat {_FILE}.pid); rm -f {_FILE} {_FILE}.pid")
            reader.join()


def _take_all(stamps: Stamps, node: str, lines: Iterable[str]) -> None:
    for line in lines:
        stamps.take(node, line)
