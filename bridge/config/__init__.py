"""bridge.toml: frozen, typed, unknown keys refused. Every field says its unit and why its default.

The daemon reads it once at start; `bridged --check-config` reads it and says what is wrong.
"""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from bridge import wellknown
from bridge.config.address import SlurmrestUrl
from bridge.config.profiles import (
    Checkpoints,
    Count,
    Fabric,
    Image,
    JobRule,
    Kind,
    Label,
    Network,
    ResourceName,
    Section,
    Size,
    Toleration,
    said,
)
from bridge.errors import AllocationError, ConfigError
from bridge.messages import bridged as messages

Seconds = Annotated[float, Field(gt=0)]
_HUGE = {"2Mi": 2, "1Gi": 1024}  # pages of these sizes, in MiB


class Cluster(Section):
    """This Slurm cluster."""

    name: str = Field(min_length=1)
    """ClusterName of slurm.conf; a run is keyed by it."""
    tag: str = Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$")
    """Short name of this cluster in workload names; unique among the Slurm clusters of one Kubernetes."""
    node_name: str = "{nodename}"
    """Kubernetes Node of a Slurm node: the one site-wide rule, `{nodename}` replaced by Slurm's NodeName."""

    def kubernetes_node(self, slurm_node: str) -> str:
        """Name of the Kubernetes Node object of a Slurm node."""
        return self.node_name.replace("{nodename}", slurm_node)

    def slurm_node(self, kubernetes_node: str) -> str:
        """Slurm's name of the node with this Node object. Raises AllocationError where the rule gives none back."""
        before, _, after = self.node_name.partition("{nodename}")
        name = kubernetes_node.removeprefix(before).removesuffix(after)
        if not name or self.kubernetes_node(name) != kubernetes_node:
            raise AllocationError(f"the Node {kubernetes_node!r} is none that cluster.node_name makes of a Slurm node")
        return name


class Slurmrest(Section):
    """slurmrestd, asked as the owner of each job. Without this section the bridge reports nothing (tier none)."""

    tier: Literal["owner", "service", "administrator"] = "owner"
    """Whose rights the bridge has in Slurm. By default those of each job's owner, and nobody else's. `service`: where
    a hook brought no token of the owner, an operator's; it also learns what became of jobs of which this node knows
    nothing. `administrator`: an administrator's, which may change nodes too."""
    service_user: str | None = Field(default=None, min_length=1)
    """Slurm name of that operator or administrator."""
    extend_time_limit: bool = False
    """Give the job back the minutes that its prolog took: Slurm counts them against the time limit. Only an operator
    may lengthen a job, so this needs another tier than owner."""
    service_token_file: Path | None = None
    """Their token (`scontrol token`), 0600, owned by the daemon's user; read anew for every use, so renew it there."""

    url: SlurmrestUrl
    """Base address, without `/slurm/...`: `https://HOST:PORT`, `http://` on loopback, or `unix:/PATH` of a socket that
    the daemon's user may write to and that is not under /tmp."""
    ca_file: Path | None = None
    """CA bundle of a private CA, read again when it changes; the system's bundle when absent."""
    timeout: Seconds = 10.0
    """Seconds for one call, connection included."""

    @model_validator(mode="after")
    def _has_what_its_tier_needs(self) -> Self:
        given = (self.service_user is not None, self.service_token_file is not None)
        if self.tier == "owner" and self.extend_time_limit:
            raise ValueError(
                'extend_time_limit needs tier "service" or "administrator": an owner may not lengthen a job'
            )
        if self.tier == "owner" and any(given):
            raise ValueError('service_user and service_token_file serve nothing in tier "owner"; choose another tier')
        if self.tier != "owner" and not all(given):
            raise ValueError(f'tier "{self.tier}" needs service_user and service_token_file')
        return self

    @property
    def may_drain(self) -> bool:
        """Whether the bridge may give nodes a drain reason of its own, and lift it."""
        return self.tier == "administrator"

    @property
    def has_service(self) -> bool:
        """Whether the site has given the bridge a token of its own."""
        return self.tier != "owner"


class KubernetesAccess(Section):
    """The API server, asked as this node."""

    kubeconfig: Path
    """Kubeconfig with this node's own credential, 0600, owned by the daemon's user. Its tokenFile is re-read."""
    namespace: str = "slurm-jobs"
    """Namespace of the workloads."""
    timeout: Seconds = 10.0
    """Seconds for one call; watches and logs have their own bounds."""
    kubelet_healthz: str = Field(default="http://127.0.0.1:10248/healthz", pattern=r"^(https?://.+)?$")
    """Where this machine's own kubelet says how it is; "" where it does not (healthzPort 0)."""
    disks: tuple[str, ...] = ("/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet", "/var/log/pods")
    """Directories of this machine that images, containers and logs are written to. Where the file system of one is
    full before a job comes, and the job's pod does not start, the node is to blame."""


class Pod(Section):
    """What the pods of a job are like: the site's usual way in [pod], another way in each of [profiles.NAME].

    A profile has the keys of [pod] and says only what is different; its tables are laid over those of [pod].
    """

    max_cpus: int = Field(gt=0)
    """CPUs of one pod at most: a node's allocatable less its DaemonSets, or a whole node never schedules."""
    cpu_multiple: Count = 1
    """The training's CPUs are a multiple of this: threads per core where kubelets have `full-pcpus-only`, which
    refuses other numbers. They are whole anyhow, and requests equal limits, so a static CPU Manager pins them."""
    max_memory: str = Field(pattern=r"^[1-9][0-9]*(Mi|Gi)$")
    """Memory of one pod at most, and the memory where Slurm does not track it."""
    grace_seconds: int = Field(default=30, ge=1, le=3600)
    """Default and upper bound of terminationGracePeriodSeconds: SIGTERM to SIGKILL, part of every epilog."""
    shm_size: Size = "1Gi"
    """Size of the memory-backed /dev/shm; counts against the pod's memory."""
    strict_groups: bool = False
    """Pods have the job's groups and none that an image's /etc/group adds: who can bring an image where a uid is in
    other groups reads their files else. Set it where every node has containerd 2.0 or CRI-O 1.31 and Kubernetes 1.33;
    a kubelet with an older runtime refuses such pods."""
    hugepages: dict[Literal["2Mi", "1Gi"], Size] = Field(default_factory=dict)
    """Huge pages of each training, by page size: so much memory of the node's pool, mounted at /hugepages-PAGESIZE."""
    host_network: bool = False
    """The pods have the node's own network: fast, and no wall between jobs. Pod Security must let it (level
    privileged), and two jobs on a node cannot both have `rendezvous_port`."""
    networks: tuple[Network, ...] = ()
    """Networks besides the usual one, `NAMESPACE/NAME@INTERFACE`, as Multus knows them; one may be there twice."""
    fabric: Fabric = Fabric()
    volumes: tuple[Label, ...] = ()
    """Names of [volumes] that every training has at their mount_path, whether or not its spec names them."""
    checkpoints: Checkpoints | None = None
    mirrors: dict[Image, Image] = Field(default_factory=dict)
    """Where images come from instead: by prefix of whole parts, `"docker.io" = "mirror.example/hub"`; the longest one
    counts. An image without a registry is docker.io's."""
    service_account: str = "default"
    """ServiceAccount of the pods; its token is never mounted."""
    scheduler_name: str = "default-scheduler"
    priority_class: str | None = None
    runtime_class: str | None = None
    image_pull_secrets: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    """Besides the bridge's own taint."""
    rdma: dict[ResourceName, Count] = Field(default_factory=dict)
    """RDMA devices of each training: how many of which resource, as the site's device plugins advertise them
    (`"rdma/hca_shared_devices_a" = 1`). With it `privileged` and hostPath /dev/infiniband of a spec become these."""
    ipc_lock: bool = False
    """Add the capability IPC_LOCK to the training. Pod Security must let it (level privileged); a process that is not
    root has no use of it where the runtime's own limit on locked memory is unlimited."""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment of every training container, for what [fabric] has no key; the spec's own values win."""
    extra_resources: tuple[str, ...] = ("ephemeral-storage", "hugepages-*", "rdma/*", "vpc.amazonaws.com/efa")
    """Patterns of the resources that specs may ask for beside CPU, memory and GPUs; never an accelerator."""
    claims: tuple[str, ...] = ()
    """Patterns of the PersistentVolumeClaims that specs may use by their own name, beside those of `volumes`; `*`
    where each project has a namespace and makes its claims itself."""
    metadata_keys: tuple[str, ...] = ("sidecar.istio.io/inject",)
    """Patterns of the label and annotation keys with a prefix that specs may set; each can wake a controller."""
    rendezvous_port: int = Field(default=23456, ge=1024, le=65535)
    """Port of rank 0 for torch's rendezvous (the operator's own default)."""

    @model_validator(mode="after")
    def _says_each_thing_once(self) -> Self:
        told = self.fabric.environment()
        if self.checkpoints is not None:
            told[self.checkpoints.variable] = ""
        twice = sorted(told.keys() & self.env.keys())
        if twice:
            raise ValueError(f"env has {', '.join(twice)}, which fabric or checkpoints set; remove one of the two")
        for page, size in self.hugepages.items():
            mebibytes = int(size[:-2]) * (1024 if size.endswith("Gi") else 1)
            if mebibytes % _HUGE[page]:
                raise ValueError(f"hugepages: {size} is no multiple of {page}")
        return self


class Gpu(Section):
    """The accelerators of a node."""

    resource: str = "nvidia.com/gpu"
    """Extended resource that the device plugin advertises."""
    types: dict[str, str] = Field(default_factory=dict)
    """Resource of those types of GPUs in Slurm (`gpu:TYPE:N`) that Kubernetes counts as another one: MIG slices,
    another vendor's. Of what type a job's GPUs are is slurmrestd's word."""
    aliases: tuple[str, ...] = ()
    """Other names by which specs ask for these GPUs, such as `nvidia.com/a100` from a cluster that names its models."""
    host_paths: tuple[str, ...] = ("/dev/nvidia*", "/dev/gdrdrv", "/usr/local/nvidia")
    """Patterns of node paths that a pod with GPUs has from the device plugin and the runtime: hostPath volumes of
    them are left out."""
    device_files: tuple[str, ...] = ()
    """Glob patterns of the device files that nobody may hold open when a node is released."""

    @property
    def resources(self) -> tuple[str, ...]:
        """Every resource that is a GPU here."""
        return tuple(dict.fromkeys([self.resource, *self.types.values()]))

    def resource_of(self, gpu_type: str) -> str:
        """The resource of one of Slurm's types; '' stands for GPUs without a type."""
        return self.types.get(gpu_type, self.resource)


class Volume(Section):
    """One volume that specs may use by the name of this section."""

    claim: str | None = None
    """PersistentVolumeClaim in the namespace."""
    host_path: str | None = Field(default=None, pattern=r"^/")
    """Directory of the node. With a claim beside it, a spec's hostPath of this directory becomes the claim."""
    mount_path: str = Field(pattern=r"^/")
    """Default place in the container."""
    read_only: bool = False

    @model_validator(mode="after")
    def _has_a_source(self) -> Self:
        if self.claim is None and self.host_path is None:
            raise ValueError("needs a claim or a host_path")
        return self


class Timing(Section):
    """Deadlines and poll periods, in seconds."""

    prolog_deadline: Seconds = 300.0
    """From the prolog's start to its verdict; 30 s less than Slurm's PrologTimeout at least."""
    epilog_deadline: Seconds = 3300.0
    """From the epilog's start to exit 1; 60 s less than Slurm's EpilogTimeout at least."""
    poll_period: Seconds = 5.0
    """Between two looks at the job in slurmctld while a prolog waits, and so how late a cancel is noticed; up to
    six times as much while slurmctld does not answer."""
    member_patience: Seconds = 10.0
    """A node other than the batch node that has seen no workload for so long lets its prolog go."""
    breaker_after: Seconds = 60.0
    """After so long without an answer of the API server, a prolog that begins does not wait for its deadline."""
    breaker_patience: Seconds = 10.0
    """What it waits instead, to see whether the API server is back."""
    node_patience: Seconds = 30.0
    """A prolog that has waited so long looks at its own node; a fault of it that lasts as long again is believed.
    Also how long the epilog of a run that such a fault ended waits for its proof, and the job for its next node."""
    node_fault_window: Seconds = 600.0
    """Faults of other nodes so recent count; at most an hour, after which Kubernetes forgets them."""
    boot_grace: Seconds = 600.0
    """After a boot the device plugin may be later than slurmd: for so long missing GPUs are not held against a node."""
    reconcile_period: Seconds = 300.0
    """Between two comparisons of journal, Kubernetes and Slurm; with ±20 % jitter, since all nodes do it."""
    orphan_grace: Seconds = 300.0
    """A workload whose run is over is deleted after it was seen so for so long, and a second look has confirmed it."""
    image_patience: Seconds = 20.0
    """An image that the registry says does not exist, or not for us, is believed missing after so long."""


class Config(Section):
    """The whole file."""

    cluster: Cluster
    kubernetes: KubernetesAccess
    pod: Pod
    gpu: Gpu = Gpu()
    slurmrest: Slurmrest | None = None
    volumes: dict[Label, Volume] = Field(default_factory=dict)
    profiles: dict[Label, Pod] = Field(default_factory=dict)
    """Other ways to run a job's pods than [pod], for those jobs that [[jobs]] says."""
    jobs: tuple[JobRule, ...] = ()
    """Which jobs have which namespace and which profile."""
    timing: Timing = Timing()
    journal_dir: Path = Path(wellknown.JOURNAL_DIR)
    """Directory of the journal, owned by the daemon's user."""
    timeline_file: bool = True
    """Leave the time line of each run beside the job's output file (`<output>.k8s.json`, written as the job's user,
    some kilobytes): what `bridgectl explain` on a login node reads once the job is over."""
    node_fault_limit: int = Field(default=3, ge=1)
    """When so many other nodes met a fault of their own within `timing.node_fault_window`, the next one is taken
    for a fault that all share, and drains no node."""
    on_job_fault: Literal["cancel", "hold"] = "cancel"
    """What becomes of a job that its owner must mend: cancelled, or held for them."""

    @model_validator(mode="before")
    @classmethod
    def _profiles_begin_as_pod(cls, data: Any) -> Any:
        pod = data.get("pod") if isinstance(data, dict) else None
        profiles = data.get("profiles") if isinstance(data, dict) else None
        if not isinstance(pod, dict) or not isinstance(profiles, dict):
            return data
        return {**data, "profiles": {name: _laid_over(pod, own) for name, own in profiles.items()}}

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        for where, pod in (("pod", self.pod), *((f"profiles.{name}", pod) for name, pod in self.profiles.items())):
            for name in (*pod.volumes, *([pod.checkpoints.volume] if pod.checkpoints else [])):
                if name not in self.volumes:
                    raise ValueError(f"{where}: there is no volume {name}; write [volumes.{name}]")
            if pod.checkpoints and self.volumes[pod.checkpoints.volume].read_only:
                raise ValueError(f"{where}.checkpoints: the volume {pod.checkpoints.volume} is read-only")
        for rule in self.jobs:
            for name in (*(rule.profiles or ()), *([rule.profile] if rule.profile else [])):
                if name not in self.profiles:
                    raise ValueError(f"jobs: there is no profile {name}; write [profiles.{name}]")
        if self.qos_of_namespaces and self.slurmrest is None:
            raise ValueError("jobs: a namespace that goes by qos needs [slurmrest], which alone tells a job's qos")
        if len({rule.names for rule in self.jobs}) < len(self.jobs):
            raise ValueError("jobs: two rules are about the same jobs; make them one")
        return self

    @model_validator(mode="after")
    def _reaches_each_namespace_in_one_way(self) -> Self:
        ways: dict[str, Path] = {self.kubernetes.namespace: self.kubernetes.kubeconfig}
        for rule in self.jobs:
            if rule.namespace is None or rule.kubeconfig is None:
                continue
            if ways.setdefault(rule.namespace, rule.kubeconfig) != rule.kubeconfig:
                raise ValueError(f"jobs: the namespace {rule.namespace} has two kubeconfigs; leave one")
        return self

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Every namespace that may have workloads of this cluster, the usual one first."""
        named = [rule.namespace for rule in self.jobs if rule.namespace is not None]
        return tuple(dict.fromkeys([self.kubernetes.namespace, *named]))

    @property
    def qos_of_namespaces(self) -> tuple[str, ...]:
        """Every QOS by which a namespace may go."""
        named = [rule.qos for rule in self.jobs if rule.namespace is not None and rule.qos is not None]
        return tuple(dict.fromkeys(named))

    def kubeconfig_of(self, namespace: str) -> Path | None:
        """The kubeconfig with which this namespace is reached; None: the node's own."""
        named = [rule.kubeconfig for rule in self.jobs if rule.namespace == namespace and rule.kubeconfig is not None]
        own = self.kubernetes.kubeconfig
        return next((path for path in named if path != own), None)

    def namespace_of(self, job: Kind) -> str:
        """Namespace of the workload of such a job."""
        return said(self.jobs, job, "namespace") or self.kubernetes.namespace

    def profiles_of(self, job: Kind) -> tuple[str, tuple[str, ...]]:
        """The profile of such a job, '' for [pod] alone, and the profiles that its spec may pick."""
        usual: str = said(self.jobs, job, "profile") or ""
        open_to_it: tuple[str, ...] = said(self.jobs, job, "profiles") or ()
        return usual, tuple(dict.fromkeys([*([usual] if usual else []), *open_to_it]))

    def with_profile(self, name: str) -> "Config":
        """The same with this profile in the place of [pod]; '' changes nothing."""
        return self.model_copy(update={"pod": self.profiles[name]}) if name else self


def load(path: Path) -> Config:
    """The configuration in this file.

    Raises ConfigError naming the file, the key and what is wrong with it.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(messages.CONFIG_UNREADABLE.sentence(path=path, why=error.strerror)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(messages.CONFIG_NOT_TOML.sentence(path=path, why=error)) from error
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors())
        raise ConfigError(messages.CONFIG_INVALID.sentence(path=path, faults=faults)) from error


def _laid_over(pod: dict[str, Any], own: Any) -> Any:
    """A profile's keys over those of [pod]; where both have a table, its keys likewise."""
    if not isinstance(own, dict):
        return own
    both = {name: _laid_over(pod[name], value) for name, value in own.items() if isinstance(pod.get(name), dict)}
    return {**pod, **own, **both}


def _fault(item: object) -> str:
    assert isinstance(item, dict)
    where = ".".join(str(part) for part in item["loc"])
    what = messages.UNKNOWN_KEY if item["type"] == "extra_forbidden" else item["msg"]
    return f"{where}: {what}"
