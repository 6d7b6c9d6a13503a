"""Whatever the bridge renders, Pod Security takes at level restricted; what needs more, a profile asks for."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bridge.config import Config
from bridge.job.render import Rendered, render
from tests import everything
from tests.manifests import collected
from tests.unit.job.given import HERE, placement, site

from .stack import Stack, eventually

_LEVEL = "pod-security.kubernetes.io/enforce"
_OF_THE_SITE = ("priorityClassName", "runtimeClassName", "serviceAccountName")  # objects that this cluster lacks

_SHORT = {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": "registry.example/x:1"}


def pod(name: str, manifest: dict[str, Any], namespace: str) -> dict[str, Any]:
    """As the operator makes it of the workload."""
    template = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    spec = {key: value for key, value in template["spec"].items() if key not in _OF_THE_SITE}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": template["metadata"] | {"name": name, "namespace": namespace},
        "spec": spec,
    }


def rendered(namespace: str) -> dict[str, dict[str, Any]]:
    """Workloads of every kind of spec: short form, PyTorchJobs, the public ones, and one that has everything."""
    specs = {path.stem: path.read_bytes() for path in (HERE / "specs").glob("*.yaml")}
    specs["everything"] = everything.pytorch_job().encode()
    own = {name: render(text, placement(), plain(site())) for name, text in specs.items()}
    config = plain(collected.site())
    public = {each.name: each.rendered(("n1", "n2"), namespace, config) for each in collected.manifests()}
    both: dict[str, Rendered | None] = {**own, **public}
    return {name.replace("_", "-"): made.manifest for name, made in both.items() if made is not None}


def plain(config: Config) -> Config:
    """The site without what needs another level: its volumes are claims, and its RDMA works without IPC_LOCK."""
    claims = {name: each.model_copy(update={"claim": each.claim or name}) for name, each in config.volumes.items()}
    pod = config.pod.model_copy(update={"ipc_lock": False})
    return config.model_copy(update={"volumes": claims, "pod": pod})


def answers(stack: Stack, pods: list[dict[str, Any]]) -> str:
    """What the API server would say of all of them."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    return stack.refusal("create", "--dry-run=server", "-f", "-", stdin=text)


def test_the_jobs_namespace_is_restricted(stack: Stack) -> None:
    labels = json.loads(stack.kubectl("get", "namespace", stack.namespace, "-o", "json"))["metadata"]["labels"]
    assert labels[_LEVEL] == "restricted"
    assert "pod-security.kubernetes.io/enforce-version" not in labels, "the latest: what Kubernetes adds counts"


def test_whatever_is_rendered_is_restricted(stack: Stack) -> None:
    made = rendered(stack.namespace)
    assert len(made) > 30 and "everything" in made and "container-job" in made
    refused = answers(stack, [pod(name, manifest, stack.namespace) for name, manifest in made.items()])
    assert refused == ""


def test_what_needs_more_is_let_at_level_privileged_alone(stack: Stack) -> None:
    """`baseline` lets none of it, and has nothing else against such pods. The namespace then names what is open, and
    the policies hold nodes to that."""
    spec = (HERE / "specs" / "container_job.yaml").read_bytes()
    needs = {
        "ipc-lock": 'capabilities (container "pytorch" must not include "IPC_LOCK" '
        "in securityContext.capabilities.add)",
        "node-network": 'host namespaces (hostNetwork=true), hostPort (container "pytorch" uses hostPort 6006)',
        "directory": 'hostPath volumes (volume "scratch")',
    }
    configs = {
        "ipc-lock": plain(site(rdma={"rdma/hca": 1})).model_copy(update={"pod": site(ipc_lock=True).pod}),
        "node-network": plain(site()).model_copy(update={"pod": site(host_network=True).pod}),
        "directory": site(),
    }
    short = json.dumps({**_SHORT, "volumes": ["scratch"]}).encode()
    made = {
        name: render(short if name == "directory" else spec, placement(), config).manifest
        for name, config in configs.items()
    }
    with levels(stack) as namespaces:
        for level, namespace in namespaces.items():
            for name, manifest in made.items():
                said = answers(stack, [pod(name, manifest, namespace)])
                if level == "privileged":
                    assert said == "", (name, said)
                    continue
                _, _, reasons = said.partition(f'violates PodSecurity "{level}:latest": ')
                whole = reasons.removeprefix("non-default ").strip()
                assert whole == needs[name] if level == "baseline" else reasons, (level, name, said)


@contextmanager
def levels(stack: Stack) -> Iterator[dict[str, str]]:
    """A namespace of each level, in which pods may tolerate the taint."""
    names = {level: f"level-{level}" for level in ("restricted", "baseline", "privileged")}
    try:
        for level, name in names.items():
            metadata = {"name": name, "labels": {_LEVEL: level, "slurm-k8s-bridge/jobs": "true"}}
            text = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            eventually(lambda text=text: not stack.refusal("apply", "-f", "-", stdin=text), 60, name)  # type: ignore[misc]
            stack.kubectl("-n", name, "wait", "--for=create", "--timeout=60s", "serviceaccount/default")
        yield names
    finally:
        for name in names.values():
            stack.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")
