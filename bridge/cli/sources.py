"""Where `bridgectl` learns of a run: from the daemon of this node; on a node without one from a step of the job, while
the job runs, and from the file beside its output, once it is over; else from Slurm alone. Every answer says which."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bridge import wellknown
from bridge.cli import slurm
from bridge.cli.fields import File, ShownRun, Slurm
from bridge.cli.jobid import JobId
from bridge.cli.slurm import SlurmJob
from bridge.errors import AllocationError, BridgeError, Misused
from bridge.messages import bridgectl as messages
from bridge.slurm.hostlist import expand
from bridge.wire.client import ask_once

_FILE_LIMIT = 2 * 1024 * 1024  # bytes
_LIVE = ("RUNNING", "CONFIGURING", "PENDING", "SUSPENDED", "COMPLETING")


@dataclass(frozen=True)
class Told:
    """``run`` in the fields of `ShownRun`; ``source`` is who tells it, for people."""

    run: Mapping[str, Any]
    source: str


def has_daemon() -> bool:
    """Whether this is a node that has a bridged."""
    return Path(wellknown.USER_SOCKET).exists()


def run_here(asked: JobId) -> Told:
    """The job's latest run, by this node's daemon. Raises BridgeError."""
    question = {"verb": "show", "job": number_here(asked)}
    return Told(_checked(ask_once(question)["run"]), "bridged on this node")


def number_here(asked: JobId) -> int:
    """The job's own number. Raises BridgeError."""
    if asked.task is None:
        return asked.number
    numbers = [row["job"] for row in ask_once({"verb": "ps"})["runs"] if row.get("id") == str(asked)]
    return int(numbers[-1]) if numbers else _in_slurm(asked).id


def run_of(asked: JobId) -> Told:
    """The job's latest run, by whoever knows it best. Raises BridgeError."""
    if not has_daemon():
        return _from_afar(asked)
    try:
        told = run_here(asked)
    except BridgeError as error:
        try:
            return _from_afar(asked)
        except Misused:
            raise
        except BridgeError:
            raise error from None
    if asked.task is None and (told.run["slurm"] is None or told.run["id"] != str(asked)):
        _check_alone(asked)
    return told


def _check_alone(asked: JobId) -> None:
    """The number of an array is also that of one of its elements. Raises Misused where it has several."""
    try:
        slurm.job(asked)
    except Misused:
        raise
    except BridgeError:
        pass  # then the element is shown, with its id


def from_file(path: Path) -> Told:
    """What an epilog left. Raises BridgeError for a file that is none of these."""
    try:
        left = File.model_validate_json(_bytes_of(path))
    except OSError as error:
        raise BridgeError(messages.FILE_UNREADABLE.sentence(path=path, why=error.strerror)) from error
    except ValueError as error:
        raise BridgeError(messages.FILE_UNLIKE.sentence(path=path)) from error
    return Told(left.run.model_dump(), str(path))


def _bytes_of(path: Path) -> bytes:
    """Of a regular file only: who asks may be root, and who made the file a user."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no regular file")
        data = file.read(_FILE_LIMIT + 1)
    if len(data) > _FILE_LIMIT:
        raise ValueError("too large")
    return data


def _in_slurm(asked: JobId) -> SlurmJob:
    job = slurm.job(asked)
    if job is None:
        raise BridgeError(messages.JOB_FORGOTTEN.sentence(job=asked))
    return job


def _from_afar(asked: JobId) -> Told:
    job = _in_slurm(asked)
    if job.takes_steps:
        answer = slurm.step(job, ["show", str(job.id), "-o", "json", "--here"])
        return Told(_checked(_decoded(answer)), f"bridged on {job.batch_host}, asked by a step of the job")
    return _left_by(job) or Told(_by_slurm_alone(job), "Slurm alone")


def _left_by(job: SlurmJob) -> Told | None:
    """What the epilog of the job's last run left, where the run is over and this is its file."""
    if not job.output or job.state in ("RUNNING", "CONFIGURING", "SUSPENDED", "COMPLETING"):
        return None
    path = Path(job.output + wellknown.TIMELINE_SUFFIX)
    if not path.exists():
        return None
    told = from_file(path)
    return told if told.run["job"] == job.id else None


def own_jobs() -> list[dict[str, Any]]:
    """The rows of `ps` where no daemon is: the bridge jobs of whoever asks, as slurmctld tells of them."""
    own = ("job", "id", "restart", "workload", "phase", "rank", "nodes", "user")
    fields = (*own, "sentence", "progress", "obstacle")
    rows = ((job, _by_slurm_alone(job)) for job in slurm.own_jobs())
    return [{name: row[name] for name in fields} | {"nodes": _nodes(job)} for job, row in rows]


def _nodes(job: SlurmJob) -> list[str]:
    try:
        return list(expand(job.nodes)) if job.nodes else []
    except AllocationError:
        return []


def _by_slurm_alone(job: SlurmJob) -> dict[str, Any]:
    """What Slurm says, where nobody else can be asked."""
    times = {"submitted": job.submitted, "eligible": job.eligible, "allocated": 0, "output": job.output}
    phases = {"PENDING": "pending", "RUNNING": "running", "SUSPENDED": "running", "COMPLETING": "release"}
    if job.state != "PENDING":
        times["allocated"] = job.allocated
    run = ShownRun(
        job=job.id,
        id=job.named,
        phase="prolog" if job.in_prolog else phases.get(job.state, "ended"),
        user=job.user or None,
        sentence=job.said,
        trouble=_why_so_little(job),
        slurm=Slurm.model_validate(times),
    )
    return run.model_dump()


def _why_so_little(job: SlurmJob) -> str:
    if job.state == "PENDING":
        return messages.JOB_PENDING.sentence(reason=job.reason or "no reason")
    if job.in_prolog:
        return messages.JOB_IN_PROLOG.sentence(job=job.named, node=job.batch_host or "its first node")
    if job.state in _LIVE:
        return messages.JOB_WITHOUT_STEPS.sentence(state=job.state)
    return messages.NO_TIMELINE.sentence(state=job.state, output=job.output or "not known")


def _checked(run: object) -> dict[str, Any]:
    try:
        return ShownRun.model_validate(run).model_dump()
    except ValidationError as error:
        raise BridgeError(messages.DAEMON_UNLIKE.sentence()) from error


def _decoded(text: str) -> object:
    if not text:
        raise BridgeError(messages.STEP_SILENT.sentence())
    try:
        return json.loads(text)
    except ValueError as error:
        raise BridgeError(messages.STEP_UNLIKE.sentence()) from error
