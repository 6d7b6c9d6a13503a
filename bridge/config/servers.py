"""The Slurm cluster, and the two servers that the daemon asks."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from bridge.config.address import SlurmrestUrl
from bridge.config.section import Seconds, Section
from bridge.errors import AllocationError


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
    """Seconds for one call, four times that at most while the server is slower; watches and logs have other bounds."""
    kubelet_healthz: str = Field(default="http://127.0.0.1:10248/healthz", pattern=r"^(https?://.+)?$")
    """Where this machine's own kubelet says how it is; "" where it does not (healthzPort 0)."""
    disks: tuple[str, ...] = ("/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet", "/var/log/pods")
    """Directories of this machine that images, containers and logs are written to. Where the file system of one is
    full before a job comes, and the job's pod does not start, the node is to blame."""
    test_image: str | None = Field(default=None, min_length=1, pattern=r"^[^\s-]\S*$")
    """A small image of the site's registry, free of pull secrets, that `bridgectl doctor` has the runtime pull."""
