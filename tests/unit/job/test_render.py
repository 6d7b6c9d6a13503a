"""Whole specs against golden files; `SKB_WRITE_GOLDEN=1` writes them anew, for a person to read the diff."""

import os
from typing import Any

import pytest
import yaml

from bridge import wellknown
from bridge.config import Config
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
    made = rendered("simple", nodes=("node-a",), gpus_per_node=0, memory_mib=None, cpus_per_node=32)
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


def container_job(config: Config | None = None, **fields: Any) -> dict[str, Any]:
    job = {"apiVersion": "slurm-k8s-bridge/v1", "kind": "ContainerJob", "image": "x", **fields}
    return pod(render(yaml.safe_dump(job).encode(), placement(), config or site()).manifest)


def test_home_is_an_empty_directory_of_the_pod() -> None:
    spec = container_job()
    container = spec["containers"][0]
    assert {"name": "HOME", "value": "/slurm-home"} in container["env"]
    assert {"name": "slurm-k8s-bridge-home", "mountPath": "/slurm-home"} in container["volumeMounts"]
    assert {"name": "slurm-k8s-bridge-home", "emptyDir": {}} in spec["volumes"]


@pytest.mark.parametrize(
    ("config", "fields"), [(site(), {"env": {"HOME": "/data"}}), (site(env={"HOME": "/data"}), {})]
)
def test_where_spec_or_site_name_a_home_there_is_no_other(config: Config, fields: dict[str, Any]) -> None:
    spec = container_job(config, **fields)
    assert {"name": "HOME", "value": "/data"} in spec["containers"][0]["env"]
    assert [volume["name"] for volume in spec["volumes"]] == ["slurm-k8s-bridge-shm"]


def test_the_users_name_is_in_the_environment_and_may_be_another() -> None:
    env = container_job(env={"USER": "tester"})["containers"][0]["env"]
    assert {"name": "LOGNAME", "value": "ada"} in env
    assert [entry["value"] for entry in env if entry["name"] == "USER"] == ["tester"]


def test_slurms_variables_are_the_bridges_whatever_a_spec_says() -> None:
    job = "apiVersion: slurm-k8s-bridge/v1\nkind: ContainerJob\nimage: x\nenv: {SLURM_JOB_ID: '1', SLURM_NODEID: '9'}\n"
    made = render(job.encode(), placement(), site())
    env = {entry["name"]: entry for entry in training(made.manifest)["env"]}
    assert env["SLURM_JOB_ID"]["value"] == "4711"
    assert "fieldRef" in env["SLURM_NODEID"]["valueFrom"]
    assert [notice.split(":")[0] for notice in made.notices] == ["env[SLURM_JOB_ID]", "env[SLURM_NODEID]"]
    assert not {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"} & env.keys(), "there is no step"


@pytest.mark.parametrize("strict", [True, False])
def test_user_and_groups_are_the_jobs(strict: bool) -> None:
    security = container_job(site(strict_groups=strict))["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"]) == (1001, 1001)
    assert security["supplementalGroups"] == [2001, 2002]
    assert security.get("supplementalGroupsPolicy") == ("Strict" if strict else None)


def test_other_containers_know_the_rendezvous_that_they_ask_for() -> None:
    spec = {
        "containers": [
            {"name": "pytorch", "image": "x", "args": ["--at=llama-worker-0:29500", "--not=my-llama-worker-0"]}
        ],
        "initContainers": [
            {
                "name": "wait",
                "image": "x",
                "env": [{"name": "MASTER_ADDR", "value": "llama-rdzv"}, {"name": "A", "value": "1"}],
                "command": ["wait-for", "my-llama-worker-0"],
            }
        ],
    }
    roles = {"Worker": {"template": {"spec": spec}}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "llama"},
        "spec": {"pytorchReplicaSpecs": roles},
    }
    made = render(yaml.safe_dump(job).encode(), placement(), site())
    (init,) = pod(made.manifest)["initContainers"]
    name = made.manifest["metadata"]["name"]
    assert init["env"] == [{"name": "MASTER_ADDR", "value": f"{name}-worker-0"}, {"name": "A", "value": "1"}]
    path = "spec.pytorchReplicaSpecs.Worker.template.spec"
    told = f"{path}.initContainers[0].env[MASTER_ADDR]: 'llama-rdzv' replaced by '{name}-worker-0'"
    assert [notice for notice in made.notices if notice.startswith(told)]
    hosts = [notice for notice in made.notices if "no host has the name" in notice]
    assert hosts == [
        f"{path}.containers[0].args: no host has the name llama-worker-0 here; write $(MASTER_ADDR) for {name}-worker-0"
    ]
