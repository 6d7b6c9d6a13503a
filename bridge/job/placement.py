"""What an allocation gives to each pod of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.job.ids import RunKey


@dataclass(frozen=True)
class Placement:
    """The allocation in the renderer's words, checked by whoever builds it: all nodes give the same.

    `name` is the workload's, `nodes` are Kubernetes node names in rank order. `cpus_per_node` and `memory_mib` are the
    smallest node's share, the latter None where Slurm does not track memory. `gpu_resource` is what Kubernetes calls
    the GPUs. `groups` are the user's supplementary groups, `user` is their name. `variables` are those of
    `variables.NAMES` that have a value in this job. `profile` is the site's for this job, '' for none, and `profiles`
    those that its spec may pick.
    """

    name: str
    namespace: str
    tag: str
    key: RunKey
    start_time: int
    nodes: tuple[str, ...]
    cpus_per_node: int
    memory_mib: int | None
    gpus_per_node: int
    uid: int
    gid: int
    groups: tuple[int, ...]
    user: str
    variables: Mapping[str, str]
    gpu_resource: str
    profile: str = ""
    profiles: tuple[str, ...] = ()
