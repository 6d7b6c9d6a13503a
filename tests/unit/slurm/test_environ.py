import json
from collections.abc import Mapping

import pytest

from bridge.errors import AllocationError
from bridge.slurm.environ import Allocation, from_environ

ENV: Mapping[str, str] = {
    "SLURM_CLUSTER_NAME": "alps",
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_RESTART_COUNT": "2",
    "SLURM_JOB_START_TIME": "1790000000",
    "SLURM_JOB_END_TIME": "1790003600",
    "SLURM_JOB_UID": "1001",
    "SLURM_JOB_GID": "1002",
    "SLURM_JOB_USER": "ml",
    "SLURM_JOB_ACCOUNT": "vision",
    "SLURM_JOB_PARTITION": "main",
    "SLURM_JOB_NODELIST": "n[3,1-2]",
    "SLURM_NODELIST": "wrong",
    "SLURMD_NODENAME": "n1",
    "SLURM_JOB_CPUS_PER_NODE": "8(x2),4",
    "SLURM_JOB_GPUS": "0,1,2,3",
    "SLURM_JOB_WORK_DIR": "/home/ml/run",
    "SLURM_JOB_COMMENT": "k8s=train.yaml",
}


def test_reads_a_whole_environment() -> None:
    got = from_environ(ENV)
    assert got == Allocation(
        cluster="alps",
        job_id=4711,
        restart=2,
        start_time=1790000000,
        end_time=1790003600,
        uid=1001,
        gid=1002,
        user="ml",
        account="vision",
        partition="main",
        nodes=("n3", "n1", "n2"),
        node="n1",
        cpus=(8, 8, 4),
        gpus_here=4,
        work_dir="/home/ml/run",
        comment="k8s=train.yaml",
        extra="",
        het_job_id=None,
    )
    assert got.rank == 1
    assert not got.is_batch


def test_reads_what_slurm_22_05_gives() -> None:
    newer = {"SLURM_JOB_NODELIST", "SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME", "SLURM_JOB_GPUS"}
    old = {name: value for name, value in ENV.items() if name not in newer} | {"SLURM_NODELIST": "n[1-3]"}
    got = from_environ(old)
    assert (got.nodes, got.start_time, got.end_time, got.gpus_here) == (("n1", "n2", "n3"), 0, 0, 0)
    assert got.is_batch


@pytest.mark.parametrize("value", ["", "(null)"])
def test_no_account_is_none(value: str) -> None:
    assert from_environ({**ENV, "SLURM_JOB_ACCOUNT": value}).account is None


def test_goes_through_json_and_back() -> None:
    before = from_environ({**ENV, "SLURM_HET_JOB_ID": "4710"})
    assert before.het_job_id == 4710
    stored = json.loads(json.dumps(before.to_dict())) | {"from_a_newer_release": 1}
    assert Allocation.from_dict(stored) == before


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("SLURM_JOB_ID", "", "not set"),
        ("SLURM_JOB_ID", "0", "number from 1"),
        ("SLURM_JOB_ID", "-1", "number from 1"),
        ("SLURM_JOB_UID", "", "not set"),
        ("SLURM_JOB_UID", "1e3", "number from 0"),
        ("SLURM_JOB_UID", "9" * 40, "number from 0"),
        ("SLURM_JOB_UID", "٣", "number from 0"),
        ("SLURM_JOB_USER", "", "not set"),
        ("SLURM_JOB_USER", "a" * 300, "300 characters"),
        ("SLURM_JOB_ACCOUNT", "a\nb", "control character"),
        ("SLURM_JOB_NODELIST", "n[2-1]", "backwards"),
        ("SLURM_JOB_NODELIST", "n[1,1]", "twice"),
        ("SLURMD_NODENAME", "n9", "NodeName in slurm.conf"),
        ("SLURM_JOB_CPUS_PER_NODE", "8", "1 counts for 3 nodes"),
        ("SLURM_JOB_CPUS_PER_NODE", "", "22.05"),
        ("SLURM_JOB_WORK_DIR", "", "absolute path"),
        ("SLURM_JOB_WORK_DIR", "run", "absolute path"),
        ("SLURM_JOB_WORK_DIR", "/a\nb", "line break"),
        ("SLURM_JOB_WORK_DIR", "/" + "a" * 5000, "5001 characters"),
        ("SLURM_JOB_COMMENT", "a\0b", "NUL"),
        ("SLURM_JOB_COMMENT", "caf\udce9", "UTF-8"),
        ("SLURM_JOB_EXTRA", "x" * 9000, "9000 characters"),
    ],
)
def test_refuses_and_names_the_variable(variable: str, value: str, told: str) -> None:
    with pytest.raises(AllocationError) as caught:
        from_environ({**ENV, variable: value})
    message = str(caught.value)
    assert told in message
    assert variable in message or "node list" in message
    assert len(message) < 250


def test_a_comment_of_two_lines_is_kept() -> None:
    assert from_environ({**ENV, "SLURM_JOB_COMMENT": "a\nb"}).comment == "a\nb"
