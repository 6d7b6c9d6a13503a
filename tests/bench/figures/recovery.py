"""How soon the daemon is back, whatever its journal holds."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from bridge import wellknown

from .. import process
from ..figure import Bound, Figure, Measured, Round
from ..passage import way
from ..world import World

_SIZES = ((1, 0), (100, 0), (1000, 0), (1000, 100))  # runs, and how many of them live
_JOURNAL = wellknown.JOURNAL_DIR
_KEPT = "/run/bench-journal"
_IMPORTS = "import httpx, kubernetes.client.rest, kubernetes.config.kube_config, pydantic, structlog, tenacity, yaml"
_VENV = "/usr/lib/slurm-k8s-bridge/venv/bin/python"


@contextmanager
def measuring(world: World) -> Iterator[Round]:
    """The journal of one run, as often under other numbers."""
    stack, node = world.stack, world.node
    with way(world) as stood_by:
        run = stood_by.go().job.id
    stack.sh(node, f"systemctl stop slurm-k8s-bridge && cp -a {_JOURNAL} {_KEPT}")

    def one_round(_number: int) -> Measured:
        found: dict[str, list[float]] = {}
        for size, live in _SIZES:
            stack.exec(node, "systemctl", "stop", "slurm-k8s-bridge")
            words = (f"{_KEPT}/journal.sqlite", _JOURNAL, *map(str, (run, size, live)))
            told = json.loads(world.probe("journal", *words))
            name = f"{size} runs, {live} live" if live else f"{size} runs"
            found[f"ready, {name}"] = [process.restart(stack, node)]
            found[f"sqlite3 reads {name}"] = [told["read"]]
        imports = {"imports": [_VENV, "-I", "-c", _IMPORTS]}
        alone = json.loads(world.probe("spawn", "1", json.dumps(imports), "{}"))
        return found | {"its libraries imported, alone": alone["imports"]}

    try:
        yield one_round
    finally:
        stack.sh(node, f"systemctl stop slurm-k8s-bridge; rm -rf {_JOURNAL}/* && cp -a {_KEPT}/. {_JOURNAL}/")
        stack.sh(node, f"rm -rf {_KEPT}; systemctl start slurm-k8s-bridge")


FIGURE = Figure(
    name="recovery",
    what="start of the daemon until it is ready, with so many runs in its journal",
    unit="s",
    measuring=measuring,
    bounds=(
        Bound("ready, 1 runs", plus=1, why="slurmd waits for it at a boot"),
        Bound("ready, 1000 runs", plus=2, why="after kill -9, hooks and users wait"),
        Bound("ready, 1000 runs, 100 live", plus=2, why="the same"),
        Bound(
            "ready, 1000 runs",
            than="sqlite3 reads 1000 runs",
            times=1,
            plus=2,
            why="what is more than reading is ours",
        ),
    ),
    notes=("systemd's own second between two starts is not counted; runs that are not live are released ones",),
)
