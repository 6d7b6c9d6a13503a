"""From what Slurm gave to what the renderer needs: counts checked against each other, never guessed."""

import base64
import json
from dataclasses import dataclass

from bridge.config import Config
from bridge.engine.rules import kind
from bridge.engine.state import Run
from bridge.errors import AllocationError, GpusUnnamed
from bridge.job.placement import Placement
from bridge.job.render import render
from bridge.messages import bridged as messages
from bridge.slurm.environ import Allocation


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
    config = run.rules.sited(config)
    made = render(base64.b64decode(run.spec.data), placement(config, run), config)
    return Made(json.dumps(made.manifest, sort_keys=True, separators=(",", ":")), made.notices)


def placement(config: Config, run: Run) -> Placement:
    """What the allocation gives each pod.

    Raises AllocationError where Slurm gave only some GPUs of a node, unequal numbers, or several kinds, and GpusUnnamed
    where it names none of those that it gave here.
    """
    allocation, record = run.allocation, run.record
    assert allocation is not None
    cpus, gpus = _cpus(run), _gpus(run)
    resource = _gpu_resource(config, run) if gpus else config.gpu.resource
    _check_whole(run, gpus, resource)
    profile, profiles = config.profiles_of(kind(allocation, "" if record is None else record.qos))
    return Placement(
        name=run.name,
        namespace=run.rules.namespace or config.kubernetes.namespace,
        tag=config.cluster.tag,
        key=run.key,
        start_time=allocation.start_time,
        nodes=run.nodes,
        cpus_per_node=cpus,
        memory_mib=None if record is None else record.memory_mib,
        gpus_per_node=gpus,
        uid=allocation.uid,
        gid=allocation.gid,
        groups=run.groups,
        user=allocation.user,
        variables=_variables(run, allocation, cpus, gpus),
        gpu_resource=resource,
        profile=profile,
        profiles=profiles,
    )


def _variables(run: Run, allocation: Allocation, cpus: int, gpus: int) -> dict[str, str]:
    """What is known of the job, by Slurm's own names of it."""
    known: dict[str, object] = {
        "SLURM_JOB_ID": allocation.job_id,
        "SLURM_JOB_USER": allocation.user,
        "SLURM_JOB_UID": allocation.uid,
        "SLURM_JOB_GID": allocation.gid,
        "SLURM_JOB_ACCOUNT": allocation.account,
        "SLURM_JOB_PARTITION": allocation.partition,
        "SLURM_JOB_NODELIST": ",".join(allocation.nodes),
        "SLURM_JOB_NUM_NODES": len(allocation.nodes),
        "SLURM_NNODES": len(allocation.nodes),
        "SLURM_JOB_WORK_DIR": allocation.work_dir,
        "SLURM_CLUSTER_NAME": allocation.cluster,
        "SLURM_RESTART_COUNT": allocation.restart,
        "SLURM_CPUS_ON_NODE": cpus,
        "SLURM_GPUS_ON_NODE": gpus,
    }
    if run.record is not None:
        known |= {
            "SLURM_JOB_NAME": run.record.name or None,
            "SLURM_ARRAY_JOB_ID": run.record.array_job_id,
            "SLURM_ARRAY_TASK_ID": run.record.array_task_id,
        }
    return {name: str(value) for name, value in known.items() if value is not None}


def _cpus(run: Run) -> int:
    """CPUs of the smallest node's share, as Kubernetes counts them: every thread of a core.

    Where a job wants one thread of each core (`--hint=nomultithread`) slurmd counts cores, and slurmctld all that
    nobody else gets.
    """
    assert run.allocation is not None
    told = run.record.cpus if run.record is not None else ()
    return max(min(run.allocation.cpus), min(told, default=0))


def _gpus(run: Run) -> int:
    assert run.allocation is not None
    given = _gpus_per_node(run)
    if len(set(given)) > 1:
        raise AllocationError(
            f"Slurm gave unequal numbers of GPUs ({', '.join(map(str, given))}) on the job's nodes, "
            "but all pods are alike; submit with --gpus-per-node"
        )
    if given[0] and not run.allocation.gpus_here:
        raise GpusUnnamed(messages.GPUS_UNNAMED.sentence(node=run.node))
    return given[0]


def _gpu_resource(config: Config, run: Run) -> str:
    """What Kubernetes calls the GPUs that Slurm gave."""
    types = run.record.gpu_types if run.record is not None else ()
    found = {config.gpu.resource_of(name) for name in types} or set(config.gpu.resources)
    if len(found) == 1:
        return found.pop()
    if types:
        raise AllocationError(
            f"Slurm gave GPUs of several kinds ({', '.join(types)}), which Kubernetes counts apart; "
            f"submit with one kind, for instance --gres=gpu:{types[0]}:N"
        )
    raise AllocationError(
        f"of which kind the GPUs are that Slurm gave is not known ({run.no_report or 'slurmctld did not say'}); "
        "submit without GPUs, or have the site set up slurmrestd for the bridge"
    )


def _check_whole(run: Run, given: int, resource: str) -> None:
    there = run.gpu_counts.get(resource, run.node_gpus)
    if given not in (0, there):
        raise AllocationError(
            f"Slurm gave {given} of the {there} GPUs of a node, but a pod cannot be held to some of them; "
            f"submit with --gpus-per-node={there} or without GPUs"
        )


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
