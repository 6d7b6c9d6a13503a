"""One site and one allocation that the tests of the renderer share."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bridge.config import Config
from bridge.errors import SpecError
from bridge.job.ids import RunKey, workload_name
from bridge.job.placement import Placement
from bridge.job.render import render

HERE = Path(__file__).parent
KEY = RunKey("alps", 4711, 1)
VARIABLES = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "train", "SLURM_JOB_USER": "ada", "SLURM_JOB_NODELIST": "b,a"}
VARIABLES |= {"SLURM_GPUS_ON_NODE": "2", "SLURM_CPUS_ON_NODE": "8", "SLURM_JOB_WORK_DIR": "/home/ada"}


def site(**pod: Any) -> Config:
    """A site with two volumes, one of them known as /fsx of the nodes."""
    return Config.model_validate(
        {
            "cluster": {"name": "alps", "tag": "alps"},
            "kubernetes": {"kubeconfig": "/etc/kubeconfig"},
            "pod": {"max_cpus": 14, "max_memory": "60Gi", "env": {"NCCL_DEBUG": "WARN", "UCX": "rc"}, **pod},
            "volumes": {
                "data": {"claim": "data-claim", "host_path": "/fsx", "mount_path": "/data", "read_only": True},
                "scratch": {"host_path": "/scratch", "mount_path": "/scratch"},
                "team": {"claim": "team-claim", "mount_path": "/team"},
            },
        }
    )


def placement(**changes: Any) -> Placement:
    """Two nodes with 8 CPUs, 16 GiB and 2 GPUs each."""
    usual = Placement(
        name=workload_name("alps", KEY),
        namespace="slurm-jobs",
        tag="alps",
        key=KEY,
        start_time=1790000000,
        nodes=("node-b", "node-a"),
        cpus_per_node=8,
        memory_mib=16384,
        gpus_per_node=2,
        uid=1001,
        gid=1001,
        groups=(2002, 1001, 2001),
        gpu_resource="nvidia.com/gpu",
        user="ada",
        variables=VARIABLES,
    )
    return dataclasses.replace(usual, **changes)


def reasons(data: bytes | str, where: Placement | None = None, config: Config | None = None) -> list[str]:
    """Everything that is wrong with a spec; each is one line with a path, a fault and a cure."""
    with pytest.raises(SpecError) as caught:
        render(data.encode() if isinstance(data, str) else data, where or placement(), config or site())
    for reason in caught.value.reasons:
        path, _, rest = reason.partition(": ")
        assert path
        assert "; " in rest
        assert "\n" not in reason
    return caught.value.reasons
