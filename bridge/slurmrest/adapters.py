"""From slurmrestd's job to a JobRecord, for v0.0.40 to v0.0.42 (Slurm 23.11 to 26.05; recorded on 24.11.5).

Differences among these, of what is used here:
- job_resources: v0.0.40 ``{nodes: "n[1-2]", allocated_nodes: [{memory_allocated}]}``, and ``{}`` for none;
  v0.0.41 and v0.0.42 ``{nodes: {list, allocation: [{memory: {allocated}}]}}``, and null for none.
- standard_output: expanded by slurmrestd of 24.11 but for ``%N``; the bare pattern or nothing before.
"""

import posixpath
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ValidationError

from bridge.errors import Unsupported
from bridge.slurmrest.api import JobRecord, NodeRecord

Json = dict[str, Any]

_GPUS = re.compile(r"(?:^|,)gpu(?::([^:,()]+))?:(\d+)")  # gpu:2(IDX:0-1), gpu:h100:2(IDX:0,1), several of them
_PATTERN = re.compile(r"%(\d*)([%AaJjNntux])")
_NO_TASK = 4294967294  # what Slurm writes for %a outside an array (NO_VAL)


def _number(value: Any) -> Any:
    """Slurm's ``{set, infinite, number}``: None where it is not set or has no limit."""
    if not isinstance(value, dict):
        return value
    return value.get("number") if value.get("set") and not value.get("infinite") else None


def _list_of(value: Any) -> Any:
    return [] if value is None else value


def _text(value: Any) -> Any:
    return "" if value is None else value


Number = Annotated[int | None, BeforeValidator(_number)]
Text = Annotated[str, BeforeValidator(_text)]


class _Job(BaseModel):
    """What the bridge reads of a job; everything else is ignored."""

    job_id: int
    user_id: int
    user_name: Text = ""
    name: Text = ""
    qos: Text = ""
    job_state: list[str]
    state_reason: Text = ""
    start_time: Number = None
    submit_time: Number = None
    eligible_time: Number = None
    restart_cnt: int = 0
    nodes: Text = ""
    node_count: Number = None
    cpus: Number = None
    batch_flag: bool = False
    batch_host: Text = ""
    het_job_id: Number = None
    array_job_id: Number = None
    array_task_id: Number = None
    gres_detail: Annotated[list[Text], BeforeValidator(_list_of)] = []  # null for a node of which it gave none
    job_resources: Json | None = None
    memory_per_node: Number = None
    memory_per_cpu: Number = None
    comment: Text = ""
    standard_output: Text = ""
    current_working_directory: Text = ""
    requeue: bool = False
    time_limit: Number = None


class _Node(BaseModel):
    name: str
    state: list[str]
    reason: Text = ""


def node_record(node: Any) -> NodeRecord:
    """One element of ``nodes``. Raises Unsupported where its shape is not one that is known."""
    try:
        shape = _Node.model_validate(node)
    except ValidationError as error:
        raise Unsupported(
            "slurmrestd's answer about a node has an unknown shape; this bridge knows v0.0.40 to v0.0.42"
        ) from error
    return NodeRecord(shape.name, frozenset(shape.state), shape.reason)


def job_record(job: Any) -> JobRecord:
    """One element of ``jobs``. Raises Unsupported where its shape is not one that is known."""
    try:
        shape = _Job.model_validate(job)
        memory = _memory(shape)
        cpus = tuple(_allocated_cpus(shape.job_resources or {}))
    except (ValidationError, AttributeError, TypeError, LookupError, ValueError) as error:
        raise Unsupported(
            "slurmrestd's answer about a job has an unknown shape; this bridge knows v0.0.40 to v0.0.42"
        ) from error
    return JobRecord(
        job_id=shape.job_id,
        user_id=shape.user_id,
        user_name=shape.user_name,
        states=frozenset(shape.job_state),
        state_reason=shape.state_reason,
        start_time=shape.start_time or 0,
        restart_count=shape.restart_cnt,
        nodes=shape.nodes,
        batch=shape.batch_flag,
        batch_host=shape.batch_host,
        het_job_id=shape.het_job_id or None,
        array_job_id=shape.array_job_id or None,
        array_task_id=shape.array_task_id if shape.array_job_id else None,
        gpus=tuple(sum(int(count) for _, count in _GPUS.findall(node)) for node in shape.gres_detail),
        memory_mib=memory,
        comment=shape.comment,
        stdout=_stdout(shape) if shape.batch_flag else "",
        requeue=shape.requeue,
        time_limit_minutes=shape.time_limit,
        gpu_types=tuple(sorted({kind for node in shape.gres_detail for kind, _ in _GPUS.findall(node)})),
        cpus=cpus,
        name=shape.name,
        submit_time=shape.submit_time or 0,
        eligible_time=shape.eligible_time or 0,
        qos=shape.qos,
    )


def _memory(job: _Job) -> int | None:
    """MiB of the smallest node's share: as allocated, else as asked for; 0 stands for not tracked."""
    allocated = _allocated_memory(job.job_resources or {})
    if allocated and min(allocated) > 0:
        return min(allocated)
    if job.memory_per_node:
        return job.memory_per_node
    if job.memory_per_cpu and job.cpus:
        each = _allocated_cpus(job.job_resources or {}) or [job.cpus // (job.node_count or 1)]
        return job.memory_per_cpu * min(each)
    return None


def _allocated_cpus(resources: Json) -> list[int]:
    """CPUs of each node; v0.0.40 does not say."""
    nodes = resources.get("nodes")
    if not isinstance(nodes, dict):
        return []
    return [int(node["cpus"]["count"]) for node in nodes.get("allocation") or [] if "cpus" in node]


def _allocated_memory(resources: Json) -> list[int]:
    nodes = resources.get("nodes")
    if isinstance(nodes, dict):
        return [int(node["memory"]["allocated"]) for node in nodes.get("allocation") or [] if "memory" in node]
    return [int(node.get("memory_allocated") or 0) for node in resources.get("allocated_nodes") or []]


def _stdout(job: _Job) -> str:
    """The batch script's output file, as slurmstepd names it (sbatch(1), "filename pattern")."""
    default = "slurm-%A_%a.out" if job.array_job_id else "slurm-%j.out"
    path = _PATTERN.sub(lambda match: _expanded(job, match), job.standard_output or default)
    return posixpath.join(job.current_working_directory, path)


def _expanded(job: _Job, match: re.Match[str]) -> str:
    width, letter = match.groups()
    task = _NO_TASK if job.array_task_id is None else job.array_task_id
    numbers = {
        "j": job.job_id,
        "J": job.job_id,  # the batch step has no step number in it
        "A": job.array_job_id or job.job_id,
        "a": task,
        "n": 0,  # the batch node and its one task are the first
        "t": 0,
    }
    if letter in numbers:
        return str(numbers[letter]).zfill(int(width or 0))
    return {"%": "%", "N": job.batch_host.partition(".")[0], "u": job.user_name, "x": job.name}[letter]
