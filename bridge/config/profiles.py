"""The parts of bridge.toml that say how a job's pods are on this site's network and storage, and which jobs get what.

What can be typed is typed: a fabric that is misspelt falls back to TCP in silence, and nobody notices for a month.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1)]
Size = Annotated[str, Field(pattern=r"^[1-9][0-9]*(Mi|Gi)$")]
ResourceName = Annotated[
    str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
Label = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$")]
"""A name that becomes part of names in Kubernetes."""
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]
Adapter = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(:[1-9][0-9]*)?$")]
Network = Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9-]*/)?[a-z0-9][a-z0-9.-]*(@[A-Za-z0-9_.-]{1,15})?$")]
Image = Annotated[str, Field(pattern=r"^[^\s/][^\s]*[^\s/]$")]

JOB_ID, USER, ACCOUNT = "${SLURM_JOB_ID}", "${SLURM_JOB_USER}", "${SLURM_JOB_ACCOUNT}"
_PLACEHOLDER = re.compile(r"\$\{[A-Z_]*\}")


class Section(BaseModel):
    """A part of bridge.toml: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Toleration(Section):
    """One toleration of every pod, besides the one of the bridge's own taint."""

    key: str | None = Field(default=None, min_length=1)
    operator: Literal["Exists", "Equal"] | None = None
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None

    def to_manifest(self) -> dict[str, str]:
        """As Kubernetes writes it."""
        return self.model_dump(exclude_none=True)


class Fabric(Section):
    """The RDMA network between the nodes, told to NCCL (and RCCL, which reads the same variables), Gloo and UCX.

    Nothing is said of what is not set: each library has its own default then.
    """

    interfaces: tuple[Interface, ...] = ()
    """Network interfaces in the pod for set-up and for TCP, by their exact names: NCCL_SOCKET_IFNAME (which would take
    a bare name for a prefix) and GLOO_SOCKET_IFNAME."""
    hcas: tuple[Adapter, ...] = ()
    """RDMA adapters in the pod, `NAME` or `NAME:PORT`, by their exact names: NCCL_IB_HCA, else `mlx5_1` would be
    `mlx5_10` too, and UCX_NET_DEVICES."""
    gid_index: int | None = Field(default=None, ge=0, le=255)
    """Row of each adapter's GID table, often 3 for RoCEv2: NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX. The order is each
    host's own; NCCL from 2.21 on finds the row by itself, by the next two."""
    roce_version: Literal[1, 2] | None = None
    """NCCL_IB_ROCE_VERSION_NUM."""
    address_family: Literal["AF_INET", "AF_INET6"] | None = None
    """NCCL_IB_ADDR_FAMILY."""
    traffic_class: int | None = Field(default=None, ge=0, le=255)
    """Traffic class (DSCP times 4 and ECN), as the switches' lossless queue wants it: NCCL_IB_TC,
    UCX_IB_TRAFFIC_CLASS."""
    service_level: int | None = Field(default=None, ge=0, le=15)
    """InfiniBand's service level, the priority of RoCE's frames: NCCL_IB_SL, UCX_IB_SL."""
    timeout: int | None = Field(default=None, ge=1, le=31)
    """NCCL_IB_TIMEOUT: a packet is sent again after 4.096 µs times 2 to the power of this."""
    retry_count: int | None = Field(default=None, ge=0, le=7)
    """NCCL_IB_RETRY_CNT: how often."""
    queue_pairs: int | None = Field(default=None, ge=1, le=128)
    """NCCL_IB_QPS_PER_CONNECTION: more of them spread one flow over several paths."""
    gpu_direct: Literal["LOC", "PIX", "PXB", "PHB", "SYS"] | None = None
    """NCCL_NET_GDR_LEVEL: how far GPU and adapter may be apart for GPUDirect RDMA."""
    transports: tuple[Annotated[str, Field(pattern=r"^\^?[a-z0-9_]+$")], ...] = ()
    """UCX_TLS: the transports that UCX may take."""

    def environment(self) -> dict[str, str]:
        """The variables that say so."""
        ports = [name if ":" in name else f"{name}:1" for name in self.hcas]
        values: dict[str, object] = {
            "NCCL_SOCKET_IFNAME": self.interfaces and "=" + ",".join(self.interfaces),
            "GLOO_SOCKET_IFNAME": ",".join(self.interfaces),
            "NCCL_IB_HCA": self.hcas and "=" + ",".join(self.hcas),
            "NCCL_IB_GID_INDEX": self.gid_index,
            "NCCL_IB_ROCE_VERSION_NUM": self.roce_version,
            "NCCL_IB_ADDR_FAMILY": self.address_family,
            "NCCL_IB_TC": self.traffic_class,
            "NCCL_IB_SL": self.service_level,
            "NCCL_IB_TIMEOUT": self.timeout,
            "NCCL_IB_RETRY_CNT": self.retry_count,
            "NCCL_IB_QPS_PER_CONNECTION": self.queue_pairs,
            "NCCL_NET_GDR_LEVEL": self.gpu_direct,
            "UCX_NET_DEVICES": ",".join(ports),
            "UCX_IB_GID_INDEX": self.gid_index,
            "UCX_IB_TRAFFIC_CLASS": self.traffic_class,
            "UCX_IB_SL": self.service_level,
            "UCX_TLS": ",".join(self.transports),
        }
        return {name: str(value) for name, value in values.items() if value not in (None, "", ())}


class Checkpoints(Section):
    """A directory of each job for its checkpoints, the same when it is requeued.

    An init container in each pod makes it, as the job's user and with no right of anybody else's: the file system
    decides, as it would in the job's own script. It ends badly, and the job with it, where what stands there is a
    link or belongs to somebody else.
    """

    volume: Label
    """One of [volumes], which is mounted into every training at its mount_path for this."""
    directory: str = Field(default=f"checkpoints/{JOB_ID}", pattern=r"^[^/\s][^\s]*[^/\s]$")
    """Below the volume's mount_path; `${SLURM_JOB_ID}` must be in it, `${SLURM_JOB_USER}` and `${SLURM_JOB_ACCOUNT}`
    may. What stands above it must be the user's own, or root's with the sticky bit, as /tmp is."""
    variable: str = Field(default="CHECKPOINT_DIR", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that tells the training."""
    image: Image | None = None
    """Image with `sh` and `mkdir` for the init container; by default the training's own, which is on its way anyway."""

    @model_validator(mode="after")
    def _is_of_one_job(self) -> Self:
        if JOB_ID not in self.directory:
            raise ValueError(f"directory needs {JOB_ID}, or jobs would share it")
        unknown = set(_PLACEHOLDER.findall(self.directory)) - {JOB_ID, USER, ACCOUNT}
        if unknown:
            raise ValueError(
                f"directory: {', '.join(sorted(unknown))} is not known; there are {JOB_ID}, {USER}, {ACCOUNT}"
            )
        if {".", ".."} & set(self.directory.split("/")):
            raise ValueError("directory must not have a part `.` or `..`")
        return self


class JobRule(Section):
    """What jobs of an account, a partition or a QOS get. Each of its words holds where no more specific rule has one.

    A rule is the more specific the more of the three it names; of two that name equally many, account goes before
    QOS, and QOS before partition.
    """

    account: str | None = Field(default=None, min_length=1)
    partition: str | None = Field(default=None, min_length=1)
    qos: str | None = Field(default=None, min_length=1)
    """A job's QOS, which slurmrestd tells the batch node; it needs [slurmrest]."""
    namespace: Label | None = None
    """Namespace of their workloads, with the bridge's Role in it (`rbac/namespace NAME`). Where it goes by QOS, which
    slurmd tells no hook before 26.05, a job's other nodes watch each namespace that it may be until they see it."""
    kubeconfig: Path | None = None
    """Kubeconfig, of the same API server, with which the bridge does everything in that namespace, whichever rule leads
    a job there; without it the node's own does. 0600, owned by the daemon's user; read again when it changes."""
    profile: Label | None = None
    """The profile of those jobs whose spec picks none."""
    profiles: tuple[Label, ...] | None = None
    """Profiles that a spec may pick; `profile` it may pick always."""

    @model_validator(mode="after")
    def _is_of_use(self) -> Self:
        if self.kubeconfig is not None and self.namespace is None:
            raise ValueError("kubeconfig needs a namespace beside it: a credential is that of a namespace")
        if (self.namespace, self.profile, self.profiles) == (None, None, None):
            raise ValueError("says nothing: give it a namespace, a profile or profiles")
        return self

    @property
    def names(self) -> tuple[str | None, str | None, str | None]:
        """What it is about."""
        return self.account, self.qos, self.partition


@dataclass(frozen=True)
class Kind:
    """A job as rules see it; '' where that is not known, which no rule's word equals."""

    account: str = ""
    partition: str = ""
    qos: str = ""


def said(rules: Iterable[JobRule], job: Kind, key: Literal["namespace", "profile", "profiles"]) -> Any:
    """The word of the most specific rule for this job that has one."""
    own = (job.account, job.qos, job.partition)
    fitting = [
        rule
        for rule in rules
        if getattr(rule, key) is not None
        and all(name in (None, mine) for name, mine in zip(rule.names, own, strict=True))
    ]
    best = max(fitting, key=_specific, default=None)
    return None if best is None else getattr(best, key)


def _specific(rule: JobRule) -> tuple[int, tuple[bool, ...]]:
    named = tuple(name is not None for name in rule.names)
    return sum(named), named
