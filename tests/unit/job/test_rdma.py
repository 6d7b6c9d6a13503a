"""RDMA as manifests ask for it, and as the site gives it: by a resource of its device plugin."""

from typing import Any

import pytest
import yaml

from bridge.config import Config
from bridge.job.render import Rendered, render
from tests.unit.job.given import placement, reasons, site
from tests.unit.job.test_refusals import MAIN, POD, job

RDMA = {"rdma/hca_shared_devices_a": 1, "nvidia.com/sriov-vf": 2}
PRIVILEGED = {"securityContext": {"privileged": True, "capabilities": {"add": ["IPC_LOCK"]}}}
DEVICES = {
    "volumes": [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}, {"name": "tmp", "emptyDir": {}}],
    "initContainers": [
        {"name": "look", "image": "x", "volumeMounts": [{"name": "ib", "mountPath": "/dev/infiniband"}]},
    ],
}
MOUNTS = {"volumeMounts": [{"name": "ib", "mountPath": "/dev/infiniband"}, {"name": "tmp", "mountPath": "/tmp"}]}


def made(config: Config, **container: Any) -> tuple[dict[str, Any], Rendered]:
    rendered = render(job(DEVICES, {**MOUNTS, **container}).encode(), placement(), config)
    spec: dict[str, Any] = rendered.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    return spec, rendered


def test_privileged_and_the_nodes_devices_become_the_sites_resource() -> None:
    pod, rendered = made(site(rdma=RDMA, ipc_lock=True), **PRIVILEGED)
    (training,) = pod["containers"]
    assert training["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]},
    }
    assert training["resources"]["limits"] == training["resources"]["requests"]
    assert training["resources"]["limits"] == {
        "cpu": "8",
        "memory": "16384Mi",
        "nvidia.com/gpu": "2",
        "rdma/hca_shared_devices_a": "1",
        "nvidia.com/sriov-vf": "2",
    }
    assert [mount["name"] for mount in training["volumeMounts"]] == [
        "tmp",
        "slurm-k8s-bridge-shm",
        "slurm-k8s-bridge-home",
    ]
    assert [volume["name"] for volume in pod["volumes"]] == ["tmp", "slurm-k8s-bridge-shm", "slurm-k8s-bridge-home"]
    (init,) = pod["initContainers"]
    assert init["volumeMounts"] == []
    assert init["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not RDMA.keys() & init["resources"]["limits"].keys()
    given = "1 of rdma/hca_shared_devices_a and 2 of nvidia.com/sriov-vf and IPC_LOCK"
    assert rendered.notices == (
        f"{POD}.volumes[0].hostPath: /dev/infiniband of the node became {given}; the device plugin mounts it",
        f"{MAIN}.securityContext.privileged: true became {given}, the site's way to RDMA; "
        "other privileges there are none",
    )


def test_a_spec_that_says_nothing_has_the_sites_rdma_too() -> None:
    pod, _ = made(site(rdma={"rdma/a": 1}))
    assert pod["containers"][0]["resources"]["limits"]["rdma/a"] == "1"
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_ipc_lock_that_the_site_does_not_need_is_left_out_and_named() -> None:
    _, rendered = made(site(rdma={"rdma/a": 1}), securityContext={"capabilities": {"add": ["CAP_IPC_LOCK"]}})
    path = f"{MAIN}.securityContext.capabilities.add"
    assert f"{path}: IPC_LOCK left out: the site gives RDMA without it" in rendered.notices


@pytest.mark.parametrize("name", ["rdma/ib", "vpc.amazonaws.com/efa", "networking.gke.io.networks/rdma-0"])
def test_rdma_of_another_cluster_is_replaced(name: str) -> None:
    pod, rendered = made(site(rdma={"rdma/a": 1}), resources={"limits": {name: 8}})
    assert name not in pod["containers"][0]["resources"]["limits"]
    path = f"{MAIN}.resources.limits.{name}"
    assert f"{path}: 8 of {name} replaced by 1 of rdma/a for the training, as the site has set" in rendered.notices


def test_rdma_as_the_site_gives_it_passes_in_silence() -> None:
    _, rendered = made(site(rdma={"rdma/a": 1}), resources={"limits": {"rdma/a": 1}})
    assert not [notice for notice in rendered.notices if "rdma/a for" in notice]


@pytest.mark.parametrize(
    ("pod", "container", "path"),
    [
        (None, {"securityContext": {"capabilities": {"add": ["IPC_LOCK", "SYS_ADMIN"]}}}, MAIN),
        ({"initContainers": [{"name": "a", "image": "x", **PRIVILEGED}]}, None, f"{POD}.initContainers[0]"),
    ],
)
def test_other_privileges_are_refused_all_the_same(pod: Any, container: Any, path: str) -> None:
    found = reasons(job(pod, container), config=site(rdma=RDMA))
    assert found
    assert all(reason.startswith(f"{path}.securityContext.") for reason in found)


def test_a_site_without_rdma_gives_none() -> None:
    found = reasons(yaml.safe_dump(yaml.safe_load(job(DEVICES, {**MOUNTS, **PRIVILEGED}))))
    assert [reason.partition(": ")[0] for reason in found] == [
        f"{POD}.volumes[0].hostPath",
        f"{MAIN}.securityContext.privileged",
        f"{MAIN}.securityContext.capabilities.add",
    ]


def test_the_nodes_network_is_left_out_where_the_site_has_rdma() -> None:
    text = job({"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"})
    made = render(text.encode(), placement(), site(rdma={"rdma/a": 1}))
    assert "hostNetwork" not in made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    assert f"{POD}.hostNetwork: true left out: this site's way to the fast network is 1 of rdma/a" in made.notices
    assert reasons(text)[0].startswith(f"{POD}.hostNetwork: true is not allowed; remove it")
