"""The example of docs/how-to/site-profiles.md, and what pods come out of it and of other profiles."""

import os
import re
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge import wellknown
from bridge.config import Config
from bridge.job.checkpoints import INIT
from bridge.job.images import mirrored
from bridge.job.render import Rendered, render
from tests.unit.job.given import HERE, placement, reasons, site
from tests.unit.job.test_refusals import POD, job, short

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "site-profiles.md").read_text()
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
ALPS = Config.model_validate(tomllib.loads(EXAMPLE))
# As people bring it: everything that another cluster needed for RDMA.
BROUGHT = job(
    {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "volumes": [
            {"name": "ib", "hostPath": {"path": "/dev/infiniband"}},
            {"name": "shm", "hostPath": {"path": "/dev/shm"}},
            {"name": "gpfs", "hostPath": {"path": "/gpfs"}},
        ],
    },
    {
        "image": "nvcr.io/nvidia/pytorch:26.01-py3",
        "securityContext": {"privileged": True, "capabilities": {"add": ["IPC_LOCK"]}},
        "env": [{"name": "NCCL_IB_HCA", "value": "mlx5"}, {"name": "NCCL_DEBUG", "value": "INFO"}],
        "resources": {"limits": {"nvidia.com/gpu": 2, "rdma/ib": 1}},
        "volumeMounts": [
            {"name": "ib", "mountPath": "/dev/infiniband"},
            {"name": "shm", "mountPath": "/dev/shm"},
            {"name": "gpfs", "mountPath": "/mnt/data"},
        ],
    },
)


def rendered(text: str, config: Config, **changes: Any) -> Rendered:
    return render(text.encode(), placement(**changes), config)


def template(made: Rendered) -> dict[str, Any]:
    found: dict[str, Any] = made.manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    return found


def training(made: Rendered) -> dict[str, Any]:
    found: dict[str, Any] = template(made)["spec"]["containers"][0]
    return found


def values(made: Rendered) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in training(made)["env"] if "value" in entry}


@pytest.mark.parametrize(("stem", "text"), [("profile_roce_brought", BROUGHT), ("profile_roce_short", short())])
def test_golden(stem: str, text: str) -> None:
    made = rendered(text, ALPS, profile="roce", profiles=("roce", "tcp"))
    golden = HERE / "golden" / f"{stem}.yaml"
    got = {"manifest": made.manifest, "notices": list(made.notices)}
    if os.environ.get("SKB_WRITE_GOLDEN"):
        golden.write_text(yaml.safe_dump(got, sort_keys=False, width=110))
    assert got == yaml.safe_load(golden.read_text())


def pick(where: str, name: str) -> tuple[str, str]:
    """A spec that picks a profile there, and the path of that place."""
    annotations = {"annotations": {wellknown.ANNOTATION_PROFILE: name}}
    key = "metadata.annotations[slurm-k8s-bridge/profile]"
    document = yaml.safe_load(job())
    if where == "template":
        document["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = annotations
        return yaml.safe_dump(document), f"spec.pytorchReplicaSpecs.Worker.template.{key}"
    if where == "job":
        return yaml.safe_dump({**document, "metadata": annotations}), key
    return (short(profile=name), "profile") if where == "field" else (short(metadata=annotations), key)


@pytest.mark.parametrize("where", ["field", "annotation", "job", "template"])
def test_a_spec_picks_a_profile_and_nobody_is_told(where: str) -> None:
    text, path = pick(where, "tcp")
    made = rendered(text, ALPS, profile="roce", profiles=("roce", "tcp"))
    assert made.manifest["metadata"]["annotations"][wellknown.ANNOTATION_PROFILE] == "tcp"
    assert values(made)["NCCL_IB_DISABLE"] == "1"
    assert "NCCL_IB_HCA" not in values(made)
    assert [notice for notice in made.notices if "image: " not in notice] == []
    (reason,) = reasons(text, placement(profile="roce", profiles=("roce",)), ALPS)
    assert reason == f"{path}: 'tcp' is not open to this job; write one of: roce"
    (reason,) = reasons(text, placement(), ALPS)
    assert reason == f"{path}: 'tcp' is not open to this job; remove it; there is none that this job may pick"
    (reason,) = reasons(pick(where, "tpc")[0], placement(profiles=("tcp",)), ALPS)
    assert reason == f"{path}: 'tpc' is no profile of this site; write one of: tcp"


def test_without_a_profile_no_annotation_says_one() -> None:
    made = rendered(short(), ALPS)
    assert wellknown.ANNOTATION_PROFILE not in made.manifest["metadata"]["annotations"]
    assert "NCCL_IB_HCA" not in values(made)


def test_the_nodes_network_where_the_site_has_set_it() -> None:
    config = site(host_network=True)
    for asked in ({"hostNetwork": True, "dnsPolicy": "ClusterFirst"}, {"hostNetwork": False}, {}):
        made = rendered(job(asked), config)
        spec = template(made)["spec"]
        assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
        assert made.notices == ()
    made = rendered(job({"dnsPolicy": "Default"}), config)
    assert made.notices == (
        f"{POD}.dnsPolicy: 'Default' replaced by ClusterFirstWithHostNet, or rank 0 would have no name",
    )


def test_networks_of_the_spec_are_replaced_by_the_sites() -> None:
    document = yaml.safe_load(job())
    key = "k8s.v1.cni.cncf.io/networks"
    document["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"] = {"annotations": {key: "ib"}}
    made = rendered(yaml.safe_dump(document), site(networks=["net/rail0@net1", "net/rail0"]))
    assert template(made)["metadata"]["annotations"][key] == "net/rail0@net1,net/rail0"
    assert key not in made.manifest["metadata"]["annotations"]
    path = f"spec.pytorchReplicaSpecs.Worker.template.metadata.annotations[{key}]"
    assert made.notices == (f"{path}: 'ib' replaced by net/rail0@net1,net/rail0, as the site has set",)


def test_cpus_are_a_multiple_of_what_the_site_says() -> None:
    assert training(rendered(short(), site(cpu_multiple=3)))["resources"]["requests"]["cpu"] == "6"
    (reason,) = reasons(short(), placement(cpus_per_node=2), site(cpu_multiple=4))
    assert reason.startswith("resources.limits.cpu: 2 is left for the training, and this site's nodes give")


def test_huge_pages_that_the_spec_asks_for_itself() -> None:
    text = job(container={"resources": {"limits": {"hugepages-2Mi": "8Gi"}}})
    made = rendered(text, site(hugepages={"2Mi": "1Gi", "1Gi": "2Gi"}))
    limits = training(made)["resources"]["limits"]
    assert (limits["hugepages-2Mi"], limits["hugepages-1Gi"]) == ("8Gi", "2Gi")
    assert {"name": "slurm-k8s-bridge-hugepages-1gi", "emptyDir": {"medium": "HugePages-1Gi"}} in template(made)[
        "spec"
    ]["volumes"]


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("busybox", "mirror.example/hub/library/busybox"),
        ("pytorch/pytorch:2", "mirror.example/hub/pytorch/pytorch:2"),
        ("docker.io/pytorch/pytorch:2", "mirror.example/hub/pytorch/pytorch:2"),
        ("nvcr.io/nvidia/pytorch@sha256:0", "mirror.example/nvidia/pytorch@sha256:0"),
        ("nvcr.io/nvidia-x/pytorch", "nvcr.io/nvidia-x/pytorch"),
        ("nvcr.io/special:1", "kept.example/special:1"),
        ("localhost/x", "localhost/x"),
        ("registry:5000/a/b", "registry:5000/a/b"),
    ],
)
def test_images_come_from_the_sites_mirrors(image: str, name: str) -> None:
    mirrors = {
        "docker.io": "mirror.example/hub",
        "nvcr.io/nvidia": "mirror.example/nvidia",
        "nvcr.io/special": "kept.example/special",
    }
    assert mirrored(image, mirrors) == name
    made = rendered(short(image=image), site(mirrors=mirrors))
    assert training(made)["image"] == name
    assert len(made.notices) == (name != image)


def checkpoints(**changes: Any) -> Config:
    return site(checkpoints={"volume": "team", **changes})


def test_a_directory_for_checkpoints_is_made_first_and_told() -> None:
    config = checkpoints(directory="${SLURM_JOB_USER}/cp/${SLURM_JOB_ID}", variable="CP", image="busybox:1")
    text = job({"initContainers": [{"name": "fetch", "image": "x"}]})
    made = rendered(text, config, variables={"SLURM_JOB_USER": "ada", "SLURM_JOB_ID": "4711"})
    assert values(made)["CP"] == "/team/ada/cp/4711"
    first, second = template(made)["spec"]["initContainers"]
    assert (first["name"], first["image"], second["name"]) == (INIT, "busybox:1", "fetch")
    assert first["command"][3] == "/team/ada/cp/4711"
    assert first["resources"]["limits"] == first["resources"]["requests"] == {"cpu": "8", "memory": "16384Mi"}
    assert first["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    (mount,) = first["volumeMounts"]
    assert mount in training(made)["volumeMounts"]
    assert mount["mountPath"] == "/team"


def test_the_training_of_a_spec_that_has_the_volume_itself() -> None:
    text = short(volumes=["team", {"name": "team", "mountPath": "/elsewhere"}])
    made = rendered(text, checkpoints())
    claims = [volume for volume in template(made)["spec"]["volumes"] if "persistentVolumeClaim" in volume]
    assert claims == [{"name": "team", "persistentVolumeClaim": {"claimName": "team-claim"}}]
    assert template(made)["spec"]["initContainers"][0]["volumeMounts"] == [{"name": "team", "mountPath": "/team"}]


def test_a_claim_that_the_spec_wants_read_only_stays_so_and_checkpoints_are_written_all_the_same() -> None:
    claim = {"claimName": "team-claim", "readOnly": True}
    text = job(
        {"volumes": [{"name": "ro", "persistentVolumeClaim": claim}]},
        {"volumeMounts": [{"name": "ro", "mountPath": "/in"}]},
    )
    made = rendered(text, checkpoints())
    volumes = {volume["name"]: volume.get("persistentVolumeClaim") for volume in template(made)["spec"]["volumes"]}
    assert volumes["ro"] == claim
    assert volumes["slurm-k8s-bridge-site-team"] == {"claimName": "team-claim"}


@pytest.mark.parametrize("taken", ["team", "v"])
def test_something_else_where_checkpoints_belong(taken: str) -> None:
    if taken == "v":
        text = job(
            {"volumes": [{"name": "v", "emptyDir": {}}]}, {"volumeMounts": [{"name": "v", "mountPath": "/team/"}]}
        )
    else:
        text = short(volumes=[{"name": "team", "subPath": "x"}])
    (reason,) = reasons(text, config=checkpoints())
    assert reason.startswith("/team: is where the site's volume of the checkpoint directory belongs")
    assert not rendered(text, site(volumes=["team"])).notices


@pytest.mark.parametrize("account", ["", "..", "a/b"])
def test_a_name_that_is_no_part_of_a_path(account: str) -> None:
    config = checkpoints(directory="${SLURM_JOB_ACCOUNT}/${SLURM_JOB_ID}")
    where = placement(variables={"SLURM_JOB_ACCOUNT": account, "SLURM_JOB_ID": "1"})
    (reason,) = reasons(short(), where, config)
    assert reason.startswith("${SLURM_JOB_ACCOUNT}: ")


def test_what_the_fabric_says_is_told_to_a_spec_that_knows_better() -> None:
    config = site(fabric={"traffic_class": 104, "gid_index": 3})
    made = rendered(short(env={"NCCL_IB_TC": "41", "NCCL_IB_GID_INDEX": "3"}), config)
    assert (values(made)["NCCL_IB_TC"], values(made)["UCX_IB_TRAFFIC_CLASS"]) == ("41", "104")
    assert made.notices == ("env[NCCL_IB_TC]: stays, though this site says '104': remove it if in doubt",)


def test_host_network_without_any_way_is_refused_and_with_rdma_is_not() -> None:
    text = job({"hostNetwork": True})
    made = rendered(text, site(rdma={"rdma/a": 1}))
    assert "hostNetwork" not in template(made)["spec"]
    assert made.notices == (f"{POD}.hostNetwork: true left out: this site's way to the fast network is 1 of rdma/a",)
    (reason,) = reasons(text)
    assert reason.startswith(f"{POD}.hostNetwork: true is not allowed; remove it")


def make(directory: Path) -> subprocess.CompletedProcess[str]:
    """What the init container runs."""
    maker = template(rendered(short(), checkpoints()))["spec"]["initContainers"][0]
    words = [*maker["command"][:3], str(directory)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def test_the_directory_is_made_with_what_is_above_it_and_found_again(tmp_path: Path) -> None:
    wanted = tmp_path / "a b" / "-c" / "4711"
    for _ in range(2):
        assert make(wanted).returncode == 0
        assert wanted.is_dir()


def test_all_ranks_make_it_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda _: make(tmp_path / "checkpoints" / "7"), range(16)))
    assert [done.returncode for done in ended] == [0] * 16


def test_what_somebody_else_has_put_there_ends_the_job(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    others = Path("/usr/share")
    if os.geteuid() == 0:  # who owns that one, too
        others = tmp_path / "others"
        others.mkdir()
        os.chown(others, 12345, 12345)
    for place in (tmp_path / "link", tmp_path / "file", tmp_path / "dangling", others):
        done = make(place)
        assert done.returncode == 1, place
        assert done.stderr.count("\n") <= 1
    assert "belongs to somebody else" in make(others).stderr
    assert not (tmp_path / "nowhere").exists()
