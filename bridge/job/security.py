"""What a container may do on its node: next to nothing, and to RDMA adapters what the site has said.

Manifests ask for RDMA the way it is had without a device plugin: `privileged`, or IPC_LOCK, with /dev/infiniband of the
node. A device plugin gives the adapters by a resource and mounts their devices, so the wish becomes that resource.
"""

from typing import Any

from bridge.config import Config
from bridge.job.findings import Findings, at, shown
from bridge.job.spec import Part

Fields = dict[str, Any]

RDMA_PATH = "/dev/infiniband"
_NO_PRIVILEGES = "the pods have no privileges on the node, ask the site for an RDMA resource if that is its use"


def of_container(part: Part, config: Config, findings: Findings, *, is_training: bool) -> Fields:
    """The securityContext of a container; only the training has what the site gives for RDMA."""
    asked = part.fields.get("securityContext", {})
    path = at(part.path, "securityContext")
    has_rdma = is_training and bool(config.pod.rdma)
    if asked.get("privileged"):
        _privileged(at(path, "privileged"), has_rdma, config, findings)
    wanted = [name.removeprefix("CAP_") for name in asked.get("capabilities", {}).get("add", [])]
    if wanted and not (has_rdma and asked.get("privileged")):  # of which they are a part
        _added(wanted, at(path, "capabilities.add"), has_rdma, config, findings)
    capabilities: Fields = {"drop": ["ALL"]}
    if is_training and config.pod.ipc_lock:
        capabilities["add"] = ["IPC_LOCK"]
    security: Fields = {"allowPrivilegeEscalation": False, "capabilities": capabilities}
    if asked.get("readOnlyRootFilesystem") is not None:
        security["readOnlyRootFilesystem"] = asked["readOnlyRootFilesystem"]
    return security


def given(config: Config) -> str:
    """What the site gives for RDMA, in words."""
    names = [f"{count} of {name}" for name, count in config.pod.rdma.items()]
    return " and ".join([*names, *(["IPC_LOCK"] if config.pod.ipc_lock else [])])


def _privileged(path: str, has_rdma: bool, config: Config, findings: Findings) -> None:
    if has_rdma:
        findings.notice(path, f"true became {given(config)}, the site's way to RDMA; other privileges there are none")
    else:
        findings.refuse(path, "true is not allowed", f"remove it: {_NO_PRIVILEGES}")


def _added(wanted: list[str], path: str, has_rdma: bool, config: Config, findings: Findings) -> None:
    others = [name for name in wanted if name != "IPC_LOCK"]
    if others:
        findings.refuse(path, f"{shown(others)} is not allowed", "remove it: the pods run without capabilities")
    elif not has_rdma:
        findings.refuse(path, f"{shown(wanted)} is not allowed", f"remove it: {_NO_PRIVILEGES}")
    elif not config.pod.ipc_lock:
        # What RDMA needs is a limit on locked memory, which containers have from their runtime's own unit.
        findings.notice(path, "IPC_LOCK left out: the site gives RDMA without it")
