"""Addresses that nobody on this machine uses yet."""

from __future__ import annotations

import ipaddress
import json
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from .commands import output
from .errors import StackError
from .places import NODES, project

# Set aside for tests between networks (RFC 2544): neither a site nor docker picks from it.
_POOL = ipaddress.IPv4Network("198.18.0.0/15")


@dataclass(frozen=True)
class Addresses:
    """The stack's network, and the ports of this machine that lead into it."""

    prefix: str
    registry_port: int
    registry_control_port: int
    pod_network: str = "10.244.0.0/16"

    @property
    def subnet(self) -> str:
        """Return the containers' network."""
        return f"{self.prefix}.0/24"

    @property
    def dns(self) -> str:
        """Return where pods ask for names."""
        return f"{self.prefix}.10"

    @property
    def apiserver(self) -> str:
        """Return the API server's address."""
        return f"{self.prefix}.11"

    @property
    def apiserver_url(self) -> str:
        """Return the API server as this machine reaches it."""
        return f"https://{self.apiserver}:6443"

    def node(self, name: str) -> str:
        """Return a compute node's address."""
        return f"{self.prefix}.{21 + NODES.index(name)}"

    def pods(self, name: str) -> str:
        """Return the network of a node's pods."""
        return f"10.244.{1 + NODES.index(name)}.0/24"

    def as_dict(self) -> dict[str, object]:
        """Return the fields, for the stack's description."""
        return asdict(self)


def choose() -> Addresses:
    """Choose a network and ports; two stacks on one machine get different ones."""
    registry, control = _free_ports(2)
    return Addresses(_free_prefix(), registry, control)


def _free_ports(count: int) -> list[int]:
    # All are held until all are known, so that no number comes twice.
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(s.getsockname()[1]) for s in held]
    for one in held:
        one.close()
    return ports


def _free_prefix() -> str:
    taken = _taken()
    nets = list(_POOL.subnets(new_prefix=24))
    first = int(project().rsplit("-", 1)[1], 16) % len(nets)
    for net in nets[first:] + nets[:first]:
        if not any(net.overlaps(other) for other in taken):
            return str(net.network_address).rsplit(".", 1)[0]
    raise StackError(f"no free network is left in {_POOL}", "remove docker networks that nobody needs")


def _taken() -> list[ipaddress.IPv4Network]:
    found = []
    names = output(["docker", "network", "ls", "-q"]).split()
    for network in json.loads(output(["docker", "network", "inspect", *names])) if names else []:
        found += [c["Subnet"] for c in network["IPAM"]["Config"] or [] if "." in c.get("Subnet", "")]
    with Path("/proc/net/route").open(encoding="ascii") as routes:
        for line in list(routes)[1:]:
            fields = line.split()
            address, mask = (int.from_bytes(bytes.fromhex(fields[i])[::-1], "big") for i in (1, 7))
            if address:
                found.append(f"{ipaddress.ip_address(address)}/{ipaddress.ip_address(mask)}")
    return [ipaddress.IPv4Network(n, strict=False) for n in found]
