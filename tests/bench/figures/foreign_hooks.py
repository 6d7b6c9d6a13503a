"""What both hooks cost a job that is not ours."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.hands import EPILOG, PROLOG

from ..figure import Bound, Figure, Measured, Round
from ..world import World

_EMPTY = "/var/tmp/bench-empty"  # not in /run, where nothing may be started
_ENVIRONMENT = {"SLURM_JOB_ID": "1", "SLURM_JOB_COMMENT": "none"}
_REPETITIONS = 40
_WHY = "two milliseconds are what nobody's prolog notices"


@contextmanager
def measuring(world: World) -> Iterator[Round]:
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


FIGURE = Figure(
    name="foreign-hooks",
    what="each hook of a job that is not ours",
    unit="ms",
    measuring=measuring,
    bounds=(
        Bound("prolog", than="empty hook", times=1, plus=2, why=_WHY),
        Bound("epilog", than="empty hook", times=1, plus=2, why=_WHY),
    ),
)
