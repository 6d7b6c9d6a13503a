import json
from pathlib import Path
from typing import Any

import pytest

from bridge.slurmrest.adapters import job_record

RUNNING = Path(__file__).parent / "recorded" / "24.11.5" / "v0.0.42" / "running.json"


def number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def job(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = json.loads(RUNNING.read_text())["body"]["jobs"][0]
    return {**base, **changes}


@pytest.mark.parametrize(
    ("detail", "gpus"),
    [
        ([], ()),
        (["gpu:2(IDX:0-1)", "gpu:1(IDX:0)"], (2, 1)),
        (["gpu:h100:2(IDX:0,1)"], (2,)),
        (["gpu:h100:2(IDX:0,1),gpu:a100:1(IDX:2)"], (3,)),
        (["gpu:8"], (8,)),
        (["", "(null)", "shard:4(0/4),gpu:1(IDX:0)", "mygpu:3"], (0, 0, 1, 0)),
        (None, ()),
        ([None, "gpu:h100:4(IDX:0-3)"], (0, 4)),
    ],
)
def test_gpus_of_each_node(detail: Any, gpus: tuple[int, ...]) -> None:
    assert job_record(job(gres_detail=detail)).gpus == gpus


def test_the_types_of_the_gpus() -> None:
    detail = ["gpu:1g.10gb:7(IDX:2-8),gpu:h100:2(IDX:0-1)", None, "gpu:1(IDX:0)"]
    assert job_record(job(gres_detail=detail)).gpu_types == ("", "1g.10gb", "h100")


@pytest.mark.parametrize(
    ("changes", "memory"),
    [
        ({}, 60),
        ({"job_resources": None}, 60),
        ({"job_resources": {}, "memory_per_cpu": number(None), "memory_per_node": number(500)}, 500),
        ({"job_resources": {"nodes": "n1", "allocated_nodes": [{"memory_allocated": 7}, {"memory_allocated": 5}]}}, 5),
        ({"job_resources": None, "memory_per_cpu": number(None), "memory_per_node": number(0)}, None),
    ],
)
def test_memory_of_the_smallest_node(changes: dict[str, Any], memory: int | None) -> None:
    assert job_record(job(**changes)).memory_mib == memory


ARRAY = {"array_job_id": number(7), "array_task_id": number(3)}


@pytest.mark.parametrize(
    ("pattern", "changes", "path"),
    [
        ("", {}, "/home/ml/slurm-13.out"),
        ("", ARRAY, "/home/ml/slurm-7_3.out"),
        ("out.txt", {}, "/home/ml/out.txt"),
        ("/abs/%j.txt", {}, "/abs/13.txt"),
        ("%x-%u-%N-%J-%A-%n%t.txt", {"batch_host": "n1.site"}, "/home/ml/wrap-ml-n1-13-13-00.txt"),
        ("%A_%a", ARRAY, "/home/ml/7_3"),
        ("%6j.%3a", ARRAY, "/home/ml/000013.003"),
        ("%a", {}, "/home/ml/4294967294"),
        ("100%%.%q", {}, "/home/ml/100%.%q"),
    ],
)
def test_the_output_path_is_expanded(pattern: str, changes: dict[str, Any], path: str) -> None:
    assert job_record(job(standard_output=pattern, **changes)).stdout == path


def test_no_batch_script_has_no_output() -> None:
    assert job_record(job(batch_flag=False)).stdout == ""


def test_no_limit_is_none() -> None:
    unlimited = {"set": True, "infinite": True, "number": 0}
    assert job_record(job(time_limit=unlimited)).time_limit_minutes is None


def test_flags_of_the_state_are_kept() -> None:
    assert job_record(job(job_state=["RUNNING", "COMPLETING"])).states == {"RUNNING", "COMPLETING"}
