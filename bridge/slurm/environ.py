"""What slurmd tells a prolog or an epilog in its environment, typed and bounded.

slurmd is trusted; the comment, the extra field, the working directory and the account are the user's
choice, so every text is bounded before it is kept. Which variable exists since when: prolog and epilog
guide of Slurm, checked on 22.05, 24.11 and 26.05.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from bridge.errors import AllocationError
from bridge.slurm import hostlist

NAME_LIMIT = 256  # characters of a user, account, cluster, partition or node name
PATH_LIMIT = 4096  # PATH_MAX
FREE_TEXT_LIMIT = 8192  # characters of comment and extra; Slurm cuts at 1,024 bytes
_MISSING = "set by slurmd for every job; this hook must run as slurmd's Prolog or Epilog"


@dataclass(frozen=True)
class Allocation:
    """One run of one job as one of its nodes sees it.

    `start_time` and `end_time` are epoch seconds, 0 before Slurm 23.02. `nodes` are Slurm node names in
    rank order and `cpus` the allocated CPUs of each. `gpus_here` counts the GPUs of this node only, since
    slurmd says nothing about the others.
    """

    cluster: str
    job_id: int
    restart: int
    start_time: int
    end_time: int
    uid: int
    gid: int
    user: str
    account: str | None
    partition: str
    nodes: tuple[str, ...]
    node: str
    cpus: tuple[int, ...]
    gpus_here: int
    work_dir: str
    comment: str
    extra: str
    het_job_id: int | None

    @property
    def rank(self) -> int:
        """Place of this node in Slurm's order."""
        return self.nodes.index(self.node)

    @property
    def is_batch(self) -> bool:
        """This node is the run's batch node, rank 0."""
        return self.rank == 0

    @property
    def told_job_id(self) -> int:
        """The job that slurmctld is asked about and told of: of a heterogeneous job its leader, since the end of
        one component before the script starts is the end of all, and no comment can be set after it."""
        return self.het_job_id or self.job_id

    def to_dict(self) -> dict[str, Any]:
        """A dict that JSON can carry and `from_dict` reads back."""
        return asdict(self) | {"nodes": list(self.nodes), "cpus": list(self.cpus)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Allocation":
        """The allocation that `to_dict` wrote; unknown keys of a newer release are left out."""
        known = {field.name: data[field.name] for field in fields(cls)}
        return cls(**known | {"nodes": tuple(known["nodes"]), "cpus": tuple(known["cpus"])})


def from_environ(env: Mapping[str, str]) -> Allocation:
    """The allocation described by a hook's SLURM_* variables.

    Raises AllocationError naming the variable and what to do about it.
    """
    nodes = _nodes(env)
    return Allocation(
        cluster=_name(env, "SLURM_CLUSTER_NAME"),
        job_id=_number(env, "SLURM_JOB_ID", lowest=1),
        restart=_number(env, "SLURM_JOB_RESTART_COUNT", default=0),
        start_time=_number(env, "SLURM_JOB_START_TIME", default=0),
        end_time=_number(env, "SLURM_JOB_END_TIME", default=0),
        uid=_number(env, "SLURM_JOB_UID"),
        gid=_number(env, "SLURM_JOB_GID"),
        user=_name(env, "SLURM_JOB_USER"),
        account=_account(env),
        partition=_name(env, "SLURM_JOB_PARTITION"),
        nodes=nodes,
        node=_own_node(env, nodes),
        cpus=_cpus(env, len(nodes)),
        gpus_here=_gpus(env),
        work_dir=_work_dir(env),
        comment=_text(env, "SLURM_JOB_COMMENT", FREE_TEXT_LIMIT),
        extra=_text(env, "SLURM_JOB_EXTRA", FREE_TEXT_LIMIT),
        het_job_id=_number(env, "SLURM_HET_JOB_ID", default=0) or None,
    )


def _text(env: Mapping[str, str], variable: str, limit: int) -> str:
    value = env.get(variable, "")
    if len(value) > limit:
        raise AllocationError(f"{variable} has {len(value)} characters, at most {limit} are read: shorten it")
    if "\0" in value:
        raise AllocationError(f"{variable} contains a NUL character: remove it")
    if not _is_utf8(value):
        raise AllocationError(f"{variable} is not UTF-8: submit again with a value in UTF-8")
    return value


def _is_utf8(value: str) -> bool:
    """Python carries foreign bytes of the environment as lone surrogates, which nothing else takes."""
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _line(env: Mapping[str, str], variable: str, limit: int) -> str:
    value = _text(env, variable, limit)
    if any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise AllocationError(f"{variable} contains a line break or another control character: rename it")
    return value


def _name(env: Mapping[str, str], variable: str) -> str:
    value = _line(env, variable, NAME_LIMIT)
    if not value:
        raise AllocationError(f"{variable} is not set: {_MISSING}")
    return value


def _number(env: Mapping[str, str], variable: str, *, lowest: int = 0, default: int | None = None) -> int:
    value = env.get(variable, "")
    if value == "":
        if default is None:
            raise AllocationError(f"{variable} is not set: {_MISSING}")
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= 18) or int(value) < lowest:
        raise AllocationError(f"{variable} is {value[:40]!r}, not a number from {lowest} on: report it to the site")
    return int(value)


def _account(env: Mapping[str, str]) -> str | None:
    """The account; slurmctld's scripts print the literal `(null)` where there is none."""
    value = _line(env, "SLURM_JOB_ACCOUNT", NAME_LIMIT)
    return value if value not in ("", "(null)") else None


def _nodes(env: Mapping[str, str]) -> tuple[str, ...]:
    """SLURM_JOB_NODELIST exists since 23.02.6 only, SLURM_NODELIST in every version."""
    variable = "SLURM_JOB_NODELIST" if env.get("SLURM_JOB_NODELIST") else "SLURM_NODELIST"
    nodes = hostlist.expand(_line(env, variable, hostlist.TEXT_LIMIT))
    if not nodes:
        raise AllocationError(f"{variable} is not set: {_MISSING}")
    if len(set(nodes)) != len(nodes):
        raise AllocationError(f"{variable} names a node twice: a run has one rank per node, submit it again")
    return nodes


def _own_node(env: Mapping[str, str], nodes: tuple[str, ...]) -> str:
    node = _name(env, "SLURMD_NODENAME")
    if node not in nodes:
        raise AllocationError(
            f"SLURMD_NODENAME is {node!r}, not a node of the job: compare it with NodeName in slurm.conf"
        )
    return node


def _cpus(env: Mapping[str, str], nodes: int) -> tuple[int, ...]:
    variable = "SLURM_JOB_CPUS_PER_NODE"
    counts = hostlist.count_list(_name_list(env, variable))
    if len(counts) != nodes:
        raise AllocationError(
            f"{variable} has {len(counts)} counts for {nodes} nodes: the two must agree, submit the job again"
        )
    return counts


def _name_list(env: Mapping[str, str], variable: str) -> str:
    value = _line(env, variable, hostlist.TEXT_LIMIT)
    if not value:
        raise AllocationError(f"{variable} is not set: it needs Slurm 22.05 or newer")
    return value


def _gpus(env: Mapping[str, str]) -> int:
    """SLURM_JOB_GPUS has the indices of this node's GPUs, and is absent where there is none."""
    return sum(1 for index in _line(env, "SLURM_JOB_GPUS", hostlist.TEXT_LIMIT).split(",") if index.strip())


def _work_dir(env: Mapping[str, str]) -> str:
    value = _line(env, "SLURM_JOB_WORK_DIR", PATH_LIMIT)
    if not value.startswith("/"):
        raise AllocationError(f"SLURM_JOB_WORK_DIR is {value[:60]!r}, not an absolute path: submit with --chdir=/…")
    return value
