"""The fast network of a site.

What can be typed is typed: a fabric that is misspelt falls back to TCP in silence, and nobody notices for a month.
"""

from typing import Annotated, Literal

from pydantic import Field

from bridge.config.section import Adapter, Interface, Section


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
