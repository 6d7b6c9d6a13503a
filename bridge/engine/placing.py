"""From what Slurm gave to what the renderer needs: counts checked against each other, never guessed."""

import base64
import json
from dataclasses import dataclass

from bridge.config import Config
from bridge.engine.state import Run
from bridge.errors import AllocationError
from bridge.job.placement import Placement
from bridge.job.render import render


@dataclass(frozen=True)
class Made:
    """The workload as canonical JSON, and what the user is told was set or translated."""

    manifest: str
    notices: tuple[str, ...]


def rendered(config: Config, run: Run) -> Made:
    """The run's workload.

    Raises SpecError with all reasons, or AllocationError where the allocation itself cannot be used.
    """
    assert run.spec is not None
    made = render(base64.b64decode(run.spec.data), placement(config, run), config)
    return Made(json.dumps(made.manifest, sort_keys=True, separators=(",", ":")), made.notices)


def placement(config: Config, run: Run) -> Placement:
    """What the allocation gives each pod.

    Raises AllocationError where Slurm gave only some GPUs of a node, or unequal numbers.
    """
    allocation, record = run.allocation, run.record
    assert allocation is not None
    return Placement(
        name=run.name,
        namespace=config.kubernetes.namespace,
        tag=config.cluster.tag,
        key=run.key,
        start_time=allocation.start_time,
        nodes=run.nodes,
        slurm_nodes=allocation.nodes,
        cpus_per_node=min(allocation.cpus),
        memory_mib=None if record is None else record.memory_mib,
        gpus_per_node=_gpus(run),
        uid=allocation.uid,
        gid=allocation.gid,
        groups=run.groups,
    )


def _gpus(run: Run) -> int:
    given = _gpus_per_node(run)
    if len(set(given)) > 1:
        raise AllocationError(
            f"Slurm gave unequal numbers of GPUs ({', '.join(map(str, given))}) on the job's nodes, "
            "but all pods are alike; submit with --gpus-per-node"
        )
    if given[0] not in (0, run.node_gpus):
        raise AllocationError(
            f"Slurm gave {given[0]} of the {run.node_gpus} GPUs of a node, but a pod cannot be held to some of them; "
            f"submit with --gpus-per-node={run.node_gpus} or without GPUs"
        )
    return given[0]


def _gpus_per_node(run: Run) -> tuple[int, ...]:
    assert run.allocation is not None
    if run.record is not None and run.record.gpus:
        return run.record.gpus
    here, count = run.allocation.gpus_here, len(run.nodes)
    if run.record is not None or count == 1 or here == 0:
        return (here,) * count
    raise AllocationError(
        f"how many GPUs Slurm gave on the other nodes is not known ({run.no_report or 'slurmctld was not asked'}); "
        "submit to one node, or have the site set up slurmrestd for the bridge"
    )
