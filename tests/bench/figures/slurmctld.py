"""What a run asks of slurmctld."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.integration.rows import manifest
from tests.integration.stack import Stack

from ..figure import Bound, Figure, Measured, Round
from ..passage import TRAINING, Way, way
from ..world import World

_WAITING = 8  # seconds that a prolog waits for its pod at least
_POLL = 5  # seconds, of timing.poll_period
# What nodes say by themselves, and what sdiag counts of itself.
_ANYHOW = ("REQUEST_PING", "MESSAGE_NODE_REGISTRATION_STATUS", "REQUEST_STATS_INFO", "REQUEST_NODE_INFO")
_LOOP = "for i in $(seq %d); do scontrol show job %d; sleep 1; done >/dev/null"


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """A job of ours, one whose pod is late, one that is not ours, and a prolog that would ask once a second."""
    stack = world.stack
    late = manifest(
        stack,
        "sh",
        "-c",
        TRAINING,
        inits=[{"name": "late", "image": stack.images["small"], "command": ["sleep", str(_WAITING)]}],
    )
    with way(world) as stood_by:

        def one_round(_number: int) -> Measured:
            plain = _rpcs(stack, lambda: _foreign(stood_by))
            usual = _rpcs(stack, lambda: _ours(stood_by, ""))
            waited: list[float] = []
            waiting = _rpcs(stack, lambda: waited.append(_ours(stood_by, late)))
            job = stood_by.foreign()
            asking = _rpcs(stack, lambda: stack.sh("login", _LOOP % (_WAITING, job.id), check=False))
            ours = (usual - plain).total()
            return {
                "ours": [ours],
                "ours, while its prolog waits": [(waiting - plain).total()],
                "ours, less one a poll period": [(waiting - plain).total() - waited[0] // _POLL],
                "a prolog that asks once a second": [asking["REQUEST_JOB_INFO_SINGLE"]],
            }

        yield one_round


def _foreign(stood_by: Way) -> None:
    stood_by.foreign()


def _ours(stood_by: Way, spec: str) -> float:
    """Seconds of its prolog."""
    passage = stood_by.go(spec=spec)
    return passage.prologs[passage.nodes[0]].seconds


def _rpcs(stack: Stack, work: Callable[[], object]) -> Counter[str]:
    """What slurmctld was asked meanwhile, by kind."""
    before = _counted(stack)
    work()
    time.sleep(1)  # what is told behind an epilog
    return _counted(stack) - before


def _counted(stack: Stack) -> Counter[str]:
    kinds = stack.exec("slurmctld", "sdiag").partition("by message type")[2].partition("by user")[0]
    found = re.findall(r"^\s*(\w+) *\( *\d+\) *count:(\d+)", kinds, re.MULTILINE)
    return Counter({kind: int(count) for kind, count in found if kind not in _ANYHOW})


FIGURE = Figure(
    name="slurmctld",
    what="RPCs of one run at slurmctld, beyond those of a job that is not ours",
    unit="RPCs",
    measuring=measuring,
    rounds=3,
    bounds=(
        Bound("ours", plus=6, at=1.0, why="one slurmctld serves all nodes"),
        Bound("ours, less one a poll period", plus=6, at=1.0, why="and only one node of a run asks while it waits"),
    ),
    notes=(f"the late pod's init container takes {_WAITING} s; the naive peer asks for as long",),
)
