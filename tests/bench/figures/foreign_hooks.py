"""What both hooks cost a job that is not ours."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.hands import EPILOG, PROLOG, without_hooks

from ..figure import Bound, Figure, Measured, Round
from ..world import World

_EMPTY = "/var/tmp/bench-empty"  # not in /run, where nothing may be started
_ENVIRONMENT = {"SLURM_JOB_ID": "1", "SLURM_JOB_COMMENT": "none"}
_REPETITIONS = 40
_LAUNCHES = 10
_SRUN = (
    "for i in $(seq %d); do a=$EPOCHREALTIME; srun -N1 -n1 -w %s --mem=64M true || exit; echo $a $EPOCHREALTIME; done"
)
_WHY = "two milliseconds are what nobody's prolog notices"


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """The hooks, then a whole small job with them and without."""

    def one_round(number: int) -> Measured:
        found = {**alone(number), "srun true": _launches(world)}
        with without_hooks(world.stack, world.node):
            found["srun true, no hook of ours"] = _launches(world)
        return found

    with hooks_alone(world) as alone:
        yield one_round


@contextmanager
def hooks_alone(world: World) -> Iterator[Round]:
    """Each hook as slurmd starts it, beside one that does nothing."""
    commands = json.dumps({"empty hook": [_EMPTY], "prolog": [PROLOG], "epilog": [EPILOG]})

    def one_round(_number: int) -> Measured:
        told = json.loads(world.probe("spawn", str(_REPETITIONS), commands, json.dumps(_ENVIRONMENT)))
        return {name: [seconds * 1000 for seconds in took] for name, took in told.items()}

    world.stack.sh(world.node, f"printf '#!/bin/sh\\n' > {_EMPTY} && chmod 755 {_EMPTY}")
    try:
        yield one_round
    finally:
        world.stack.sh(world.node, f"rm -f {_EMPTY}")


def _launches(world: World) -> list[float]:
    """Milliseconds of a whole job that is not ours: allocation, prolog, one step."""
    script = _SRUN % (_LAUNCHES, world.node)
    told = world.stack.exec("login", "bash", "-c", script, user="ml")
    spans = [line.split() for line in told.splitlines()]
    return [1000 * (float(ended) - float(began)) for began, ended in spans]


FIGURE = Figure(
    name="foreign-hooks",
    what="each hook of a job that is not ours",
    unit="ms",
    measuring=measuring,
    bounds=(
        Bound("prolog", than="empty hook", times=1, plus=2, why=_WHY),
        Bound("epilog", than="empty hook", times=1, plus=2, why=_WHY),
    ),
    notes=(
        "srun true is slurmd's whole prolog and a step; without our hooks the site's own is left, which exits at once",
    ),
)
