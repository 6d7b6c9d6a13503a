"""How long the hook's client takes from its start to its first byte at the daemon."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.integration.hands import environment
from tests.integration.specs import container_job
from tests.integration.stack import Job

from .. import hook
from ..figure import Bound, Figure, Measured, Round
from ..world import World

_PYTHON = ["/usr/bin/python3", "-I", "-S", "-c", "pass"]
_TOKEN = ["/usr/bin/scontrol", "token", "username=ml", "lifespan=60"]
_REPETITIONS = 10
_FOLDER = "/run/bench-client"
_WHY = "a whole prolog may be 25 ms above its floor, and all of this is above it"


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """As the batch node, which reads the spec as the user and mints a token, and as another node of the run."""
    stack = world.stack
    directory = stack.new_directory("ml", "bench")
    stack.write(f"{directory}/job.yaml", container_job(stack.images["small"], "true"))
    batch = environment(stack, world.node, Job(1, "ml", f"{directory}/out", directory))
    other = batch | {"SLURM_JOB_NODELIST": f"nobody,{world.node}", "SLURM_JOB_CPUS_PER_NODE": "1(x2)"}
    program = hook.client("prolog", "/usr/lib/slurm-k8s-bridge", _FOLDER)
    clients = json.dumps({"batch node": batch, "other node": other})
    others = json.dumps({"python alone": _PYTHON, "scontrol token": _TOKEN})

    def one_round(_number: int) -> Measured:
        told = json.loads(world.probe("first_byte", str(_REPETITIONS), program, clients, others, _FOLDER))
        return {name: [seconds * 1000 for seconds in took] for name, took in told.items()}

    yield one_round


FIGURE = Figure(
    name="hook-client",
    what="hook's client of a bridge job, start to first byte at the daemon",
    unit="ms",
    measuring=measuring,
    bounds=(
        Bound("batch node", than="python alone", times=1, plus=25, why=_WHY),
        Bound("other node", than="python alone", times=1, plus=25, why=_WHY),
    ),
    notes=("the batch node's waits for `scontrol token`, beside which it reads the spec",),
)
