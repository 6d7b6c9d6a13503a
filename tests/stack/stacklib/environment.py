"""What compose.yaml and the services take as given: variables and generated settings."""

from __future__ import annotations

import json
from pathlib import Path

from . import compose, network
from .places import NODES, STACK, cache, project, run_dir
from .provision import Parts

# Without any stage for pods kwok has its own for them.
_NO_POD = {
    "apiVersion": "kwok.x-k8s.io/v1alpha1",
    "kind": "Stage",
    "metadata": {"name": "pod-of-somebody-else"},
    "spec": {
        "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
        "selector": {"matchLabels": {"kwok.x-k8s.io/none": "none"}},
        "next": {},
    },
}


def write_environment(parts: Parts, addresses: network.Addresses, product_image: str, *, kwok: bool) -> None:
    """Write the variables, and what the imitated nodes do if there are any."""
    data = cache() / "registry"
    data.mkdir(parents=True, exist_ok=True)
    values = {
        "SKB_PROJECT": project(),
        "SKB_RUN": str(run_dir()),
        "SKB_STACK": str(STACK),
        "SKB_PREFIX": addresses.prefix,
        "SKB_NODES": str(len(NODES)),
        "SKB_REGISTRY_DATA": str(data),
        "SKB_PORT_REGISTRY": str(addresses.registry_port),
        "SKB_PORT_REGISTRY_CONTROL": str(addresses.registry_control_port),
        # A thousand imitated nodes renew their leases late; nobody shall evict their pods for it.
        "SKB_NODE_GRACE": "900s" if kwok else "40s",
        "SKB_BIN_OPERATOR": str(parts.programs["training-operator"]),
        "SKB_BIN_GPU_PLUGIN": str(parts.gpu_plugin),
    }
    values |= {f"SKB_BIN_{n.upper()}": str(f) for n, f in parts.programs.items() if "-" not in n}
    values |= {f"SKB_IMAGE_{n.upper()}": tag for n, tag in parts.images.items()}
    values["SKB_IMAGE_PRODUCT"] = product_image
    compose.write_env(run_dir() / "compose.env", values)
    further = {name: _like_the_first(name, addresses) for name in NODES[2:]}
    (run_dir() / "nodes.json").write_text(json.dumps({"services": further}))
    if kwok:
        _write_kwok_stages(parts.programs["kwok"], bare=False)


def add_kwok(folder: Path, *, bare: bool) -> None:
    """Tell compose where KWOK is, and KWOK what its nodes do, in a stack that runs."""
    variables = run_dir() / "compose.env"
    lines = [line for line in variables.read_text().splitlines() if not line.startswith("SKB_BIN_KWOK=")]
    variables.write_text("\n".join([*lines, f"SKB_BIN_KWOK={folder}"]) + "\n")
    _write_kwok_stages(folder, bare=bare)


def _like_the_first(name: str, addresses: network.Addresses) -> dict[str, object]:
    own = f"{run_dir()}/nodes/{name}"
    return {
        "extends": {"file": str(STACK / "compose.yaml"), "service": "compute1"},
        "hostname": name,
        "networks": {"stack": {"ipv4_address": addresses.node(name)}},
        "volumes": [f"{own}:/stack/node:ro", f"{own}/secrets:/stack/secrets:ro"],
    }


def _write_kwok_stages(folder: Path, *, bare: bool) -> None:
    # One left out counts as 0, and kwok ends.
    options = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {"podPlayStageParallelism": 16, "nodePlayStageParallelism": 16, "nodeLeaseParallelism": 16},
    }
    stages = [file.read_text() for file in sorted(folder.glob("node-*.yaml" if bare else "*.yaml"))]
    if bare:
        stages.append(json.dumps(_NO_POD))
    target = run_dir() / "services" / "kwok" / "kwok.yaml"
    target.write_text("\n---\n".join([json.dumps(options), *stages]))
