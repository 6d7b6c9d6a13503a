"""Whole specs against golden files; `SKB_WRITE_GOLDEN=1` writes them anew, for a person to read the diff."""

import os
from typing import Any

import pytest
import yaml

from bridge import wellknown
from bridge.job.render import Rendered, render, spec_hash
from tests.unit.job.given import HERE, placement, site

SPECS = sorted(path.stem for path in (HERE / "specs").glob("*.yaml"))


def rendered(stem: str, **changes: Any) -> Rendered:
    return render((HERE / "specs" / f"{stem}.yaml").read_bytes(), placement(**changes), site())


def training(manifest: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = pod(manifest)["containers"][0]
    return container


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("stem", SPECS)
def test_golden(stem: str) -> None:
    made = rendered(stem)
    golden = HERE / "golden" / f"{stem}.yaml"
    got = {"manifest": made.manifest, "notices": list(made.notices)}
    if os.environ.get("SKB_WRITE_GOLDEN"):
        golden.write_text(yaml.safe_dump(got, sort_keys=False, width=110))
    assert got == yaml.safe_load(golden.read_text())


@pytest.mark.parametrize("stem", SPECS)
def test_the_same_input_gives_the_same_object(stem: str) -> None:
    assert rendered(stem) == rendered(stem)


@pytest.mark.parametrize("stem", SPECS)
def test_every_pod_is_restricted_gated_guaranteed_and_anonymous(stem: str) -> None:
    manifest = rendered(stem).manifest
    spec = pod(manifest)
    assert spec["schedulingGates"] == [{"name": "slurm-k8s-bridge/node"}]
    assert not {"affinity", "nodeSelector", "nodeName", "hostNetwork", "priority"} & spec.keys()
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsUser"] == 1001
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
    annotations = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"]["annotations"]
    assert annotations["slurm-k8s-bridge/nodes"] == "node-b,node-a"


def test_the_hash_covers_everything_but_itself() -> None:
    one, other = rendered("simple").manifest, rendered("simple", start_time=1790000001).manifest
    annotations = one["metadata"]["annotations"]
    assert annotations[wellknown.ANNOTATION_SPEC_HASH] == spec_hash(one)
    assert spec_hash(one) != spec_hash(other)
    annotations["x"] = "y"
    assert annotations[wellknown.ANNOTATION_SPEC_HASH] != spec_hash(one)


def test_one_node_without_gpus_and_without_counted_memory() -> None:
    made = rendered("simple", nodes=("node-a",), slurm_nodes=("a",), gpus_per_node=0, memory_mib=None, cpus_per_node=32)
    amounts = {"cpu": "14", "memory": "61440Mi"}
    assert training(made.manifest)["resources"] == {"limits": amounts, "requests": amounts}
    assert made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 1
    assert "spec.pytorchReplicaSpecs: 2 replicas replaced by 1, one on each node that Slurm allocated" in made.notices


@pytest.mark.parametrize(
    ("nproc", "present"), [("", True), ("auto", True), ('"1"', True), ("8", False), ("gpu", False)]
)
def test_world_size_is_for_one_process_per_node(nproc: str, present: bool) -> None:
    text = f"apiVersion: slurm-k8s-bridge/v1\nkind: ContainerJob\nimage: x\nnprocPerNode: {nproc}\n"
    names = {entry["name"] for entry in training(render(text.encode(), placement(), site()).manifest)["env"]}
    assert ({"RANK", "WORLD_SIZE"} <= names) is present
    assert {"PET_NODE_RANK", "PET_NNODES", "MASTER_ADDR", "SLURM_JOB_ID"} <= names


def test_home_may_be_the_specs_own() -> None:
    text = "apiVersion: slurm-k8s-bridge/v1\nkind: ContainerJob\nimage: x\nenv: {HOME: /data}\n"
    env = training(render(text.encode(), placement(), site()).manifest)["env"]
    assert [entry["value"] for entry in env if entry["name"] == "HOME"] == ["/data"]


def test_shared_memory_never_exceeds_the_pods() -> None:
    made = rendered("simple", memory_mib=512)
    assert pod(made.manifest)["volumes"][0]["emptyDir"] == {"medium": "Memory", "sizeLimit": "512Mi"}
