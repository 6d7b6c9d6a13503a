"""What the pods of a job are like, and what of the node they may have."""

from typing import Literal, Self

from pydantic import Field, model_validator

from bridge.config.checkpoints import Checkpoints
from bridge.config.fabric import Fabric
from bridge.config.section import Count, Image, Label, Network, ResourceName, Section, Size

_HUGE = {"2Mi": 2, "1Gi": 1024}  # pages of these sizes, in MiB


class Toleration(Section):
    """One toleration of every pod, besides the one of the bridge's own taint."""

    key: str | None = Field(default=None, min_length=1)
    """The taint's key; every taint's where it is left out."""
    operator: Literal["Exists", "Equal"] | None = None
    """How `value` is compared; Kubernetes takes Equal by default."""
    value: str | None = None
    """The taint's value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; every one where it is left out."""

    def to_manifest(self) -> dict[str, str]:
        """As Kubernetes writes it."""
        return self.model_dump(exclude_none=True)


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
    """Who schedules the pods, once their gates are open."""
    priority_class: str | None = None
    """PriorityClass of the pods, whatever their spec says."""
    runtime_class: str | None = None
    """RuntimeClass of the pods, whatever their spec says."""
    image_pull_secrets: tuple[str, ...] = ()
    """Secrets of the namespace with which every pod's images are pulled."""
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
    """Trainings may not write to it."""

    @model_validator(mode="after")
    def _has_a_source(self) -> Self:
        if self.claim is None and self.host_path is None:
            raise ValueError("needs a claim or a host_path")
        return self
