"""Profiles and rules of bridge.toml: what is wrong is said with the key, and which rule counts for which job."""

import re
from pathlib import Path
from typing import Any

import pytest

from bridge.config import Config, load
from bridge.config.fabric import Fabric
from bridge.config.jobs import Kind
from bridge.errors import ConfigError

_BASE = """
[cluster]
name = "demo"
tag = "demo"
[kubernetes]
kubeconfig = "/k"
[pod]
max_cpus = 2
max_memory = "4Gi"
env = { A = "pod", B = "pod" }
[volumes.scale]
claim = "scale"
mount_path = "/gpfs"
[volumes.fixed]
claim = "fixed"
mount_path = "/fixed"
read_only = true
"""


def config(text: str, directory: Path) -> Config:
    file = directory / "bridge.toml"
    file.write_text(_BASE + text)
    return load(file)


def test_a_profile_is_pod_with_its_own_keys_over_it(tmp_path: Path) -> None:
    text = "[profiles.fast]\nmax_cpus = 64\nenv = { B = 'fast', C = 'fast' }\n[profiles.fast.fabric]\ngid_index = 3\n"
    site = config(text, tmp_path)
    fast = site.profiles["fast"]
    assert (fast.max_cpus, fast.max_memory) == (64, "4Gi")
    assert fast.env == {"A": "pod", "B": "fast", "C": "fast"}
    assert fast.fabric.gid_index == 3
    assert site.with_profile("fast").pod is fast
    assert site.with_profile("") is site
    assert site.pod.env == {"A": "pod", "B": "pod"}


def test_what_was_written_out_is_read_the_same(tmp_path: Path) -> None:
    """A profile may set back what [pod] has changed."""
    site = config("[pod.fabric]\ntimeout = 22\n[profiles.a]\ngrace_seconds = 30\nenv = { A = '' }\n", tmp_path)
    again = Config.model_validate(site.model_dump(mode="json", exclude_unset=True))
    assert again == site


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[profiles.a]\nmax_cpu = 3\n", "profiles.a.max_cpu: unknown key, remove it"),
        ("[profiles.a.fabric]\ngid_indx = 3\n", "profiles.a.fabric.gid_indx: unknown key, remove it"),
        ("[pod.fabric]\ngid_index = 256\n", "pod.fabric.gid_index: Input should be less than or equal to 255"),
        ("[pod.fabric]\nhcas = ['mlx5_0,mlx5_1']\n", "pod.fabric.hcas.0: String should match pattern"),
        ("[pod.fabric]\ninterfaces = ['=eth0']\n", "pod.fabric.interfaces.0: String should match pattern"),
        ("[pod.fabric]\ngpu_direct = 'NEAR'\n", "pod.fabric.gpu_direct: Input should be 'LOC', 'PIX'"),
        ("[pod.rdma]\nhca = 1\n", "pod.rdma.hca.[key]: String should match pattern"),
        ("[pod.rdma]\n'rdma/hca' = 0\n", "pod.rdma.rdma/hca: Input should be greater than or equal to 1"),
        ("[pod.hugepages]\n4Mi = '1Gi'\n", "pod.hugepages.4Mi.[key]: Input should be '2Mi' or '1Gi'"),
        ("[pod.hugepages]\n1Gi = '512Mi'\n", "pod: Value error, hugepages: 512Mi is no multiple of 1Gi"),
        ("[[pod.tolerations]]\nkye = 'gpu'\n", "pod.tolerations.0.kye: unknown key, remove it"),
        ("[profiles.a]\nnetworks = ['a b']\n", "profiles.a.networks.0: String should match pattern"),
        ("[profiles.a]\nvolumes = ['x']\n", "profiles.a: there is no volume x; write [volumes.x]"),
        ("[pod.checkpoints]\nvolume = 'x'\n", "pod: there is no volume x; write [volumes.x]"),
        ("[pod.checkpoints]\nvolume = 'fixed'\n", "pod.checkpoints: the volume fixed is read-only"),
        ("[pod.checkpoints]\nvolume = 'scale'\ndirectory = 'cp'\n", "directory needs ${SLURM_JOB_ID}"),
        (
            "[pod.checkpoints]\nvolume = 'scale'\ndirectory = '${SLURM_JOB_NAME}/${SLURM_JOB_ID}'\n",
            "directory: ${SLURM_JOB_NAME} is not known",
        ),
        (
            "[pod.checkpoints]\nvolume = 'scale'\ndirectory = 'a/../${SLURM_JOB_ID}'\n",
            "directory must not have a part `.` or `..`",
        ),
        (
            "[profiles.a]\nenv = { NCCL_IB_TC = '1' }\nfabric = { traffic_class = 104 }\n",
            "profiles.a: Value error, env has NCCL_IB_TC, which fabric or checkpoints set",
        ),
        ("[[jobs]]\naccount = 'a'\n", "jobs.0: Value error, says nothing"),
        ("[[jobs]]\nqos = 'a'\nnamespace = 'b'\n", "jobs: a namespace that goes by qos needs [slurmrest]"),
        (
            "[[jobs]]\naccount = 'a'\nkubeconfig = '/theirs'\n",
            "jobs.0: Value error, kubeconfig needs a namespace beside it",
        ),
        (
            "[[jobs]]\naccount = 'a'\nnamespace = 'a'\nkubeconfig = '/theirs'\n"
            "[[jobs]]\naccount = 'b'\nnamespace = 'a'\nkubeconfig = '/j'\n",
            "jobs: the namespace a has two kubeconfigs; leave one",
        ),
        (
            "[[jobs]]\naccount = 'a'\nnamespace = 'slurm-jobs'\nkubeconfig = '/theirs'\n",
            "jobs: the namespace slurm-jobs has two kubeconfigs; leave one",
        ),
        ("[[jobs]]\nprofile = 'x'\n", "jobs: there is no profile x; write [profiles.x]"),
        ("[[jobs]]\nprofiles = ['x']\n", "jobs: there is no profile x; write [profiles.x]"),
        ("[[jobs]]\nnamespace = 'A'\n", "jobs.0.namespace: String should match pattern"),
        ("[[jobs]]\nuser = 'x'\nnamespace = 'a'\n", "jobs.0.user: unknown key, remove it"),
        ("[[jobs]]\nnamespace = 'a'\n[[jobs]]\nnamespace = 'b'\n", "jobs: two rules are about the same jobs"),
        ("[volumes.A_B]\nclaim = 'x'\nmount_path = '/x'\n", "volumes.A_B.[key]: String should match pattern"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        config(text, tmp_path)
    assert fault in str(raised.value)


_RULES = """
[profiles.a]
[profiles.b]
[profiles.c]
[[jobs]]
profile = "a"
[[jobs]]
partition = "gpu"
profile = "b"
profiles = ["c"]
namespace = "gpu"
[[jobs]]
account = "physics"
namespace = "physics"
[[jobs]]
qos = "long"
profile = "c"
[[jobs]]
account = "physics"
partition = "gpu"
profiles = []
"""


@pytest.mark.parametrize(
    ("job", "namespace", "profile", "profiles"),
    [
        (Kind(), "slurm-jobs", "a", ("a",)),
        (Kind(partition="gpu"), "gpu", "b", ("b", "c")),
        (Kind(account="physics"), "physics", "a", ("a",)),
        (Kind(account="physics", partition="gpu"), "physics", "b", ("b",)),
        (Kind(partition="gpu", qos="long"), "gpu", "c", ("c",)),
        (Kind(account="Physics", partition="gpus"), "slurm-jobs", "a", ("a",)),
    ],
)
def test_the_most_specific_rule_counts_for_each_word(
    job: Kind, namespace: str, profile: str, profiles: tuple[str, ...], tmp_path: Path
) -> None:
    site = config(_RULES, tmp_path)
    assert site.namespace_of(job) == namespace
    assert site.profiles_of(job) == (profile, profiles)
    assert site.namespaces == ("slurm-jobs", "gpu", "physics")


def test_two_names_go_before_the_account_alone(tmp_path: Path) -> None:
    text = "[[jobs]]\naccount = 'a'\nprofile = 'a'\n[[jobs]]\nqos = 'q'\npartition = 'p'\nprofile = 'b'\n"
    site = config("[profiles.a]\n[profiles.b]\n" + text, tmp_path)
    assert site.profiles_of(Kind("a", "p", "q"))[0] == "b"
    assert site.profiles_of(Kind("a", "p", "x"))[0] == "a"


def test_without_rules_there_are_one_namespace_and_no_profile(tmp_path: Path) -> None:
    site = config("[profiles.a]\n", tmp_path)
    assert site.namespace_of(Kind("physics", "gpu")) == "slurm-jobs"
    assert site.profiles_of(Kind("physics", "gpu")) == ("", ())


_TOLD: dict[str, Any] = {
    "interfaces": ["eth0", "ib0"],
    "hcas": ["mlx5_0", "mlx5_1:2"],
    "gid_index": 0,
    "roce_version": 2,
    "address_family": "AF_INET",
    "traffic_class": 104,
    "service_level": 3,
    "timeout": 22,
    "retry_count": 7,
    "queue_pairs": 4,
    "gpu_direct": "PXB",
    "transports": ["rc", "cuda_copy"],
}


def test_each_fact_of_the_fabric_has_its_variables() -> None:
    assert set(_TOLD) == set(Fabric.model_fields)
    assert Fabric.model_validate(_TOLD).environment() == {
        "NCCL_SOCKET_IFNAME": "=eth0,ib0",
        "GLOO_SOCKET_IFNAME": "eth0,ib0",
        "NCCL_IB_HCA": "=mlx5_0,mlx5_1:2",
        "NCCL_IB_GID_INDEX": "0",
        "NCCL_IB_ROCE_VERSION_NUM": "2",
        "NCCL_IB_ADDR_FAMILY": "AF_INET",
        "NCCL_IB_TC": "104",
        "NCCL_IB_SL": "3",
        "NCCL_IB_TIMEOUT": "22",
        "NCCL_IB_RETRY_CNT": "7",
        "NCCL_IB_QPS_PER_CONNECTION": "4",
        "NCCL_NET_GDR_LEVEL": "PXB",
        "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:2",
        "UCX_IB_GID_INDEX": "0",
        "UCX_IB_TRAFFIC_CLASS": "104",
        "UCX_IB_SL": "3",
        "UCX_TLS": "rc,cuda_copy",
    }
    assert Fabric().environment() == {}


def test_each_variable_that_is_set_is_named_where_its_field_is_described() -> None:
    described = " ".join(field.description or "" for field in Fabric.model_fields.values())
    assert set(re.findall(r"\b(?:NCCL|UCX|GLOO)_[A-Z_]+", described)) == set(Fabric.model_validate(_TOLD).environment())


def test_the_key_of_a_table_may_be_in_pod_and_in_a_profile(tmp_path: Path) -> None:
    text = "[pod.rdma]\n'rdma/a' = 1\n[profiles.b.rdma]\n'rdma/b' = 2\n"
    site = config(text, tmp_path)
    assert site.profiles["b"].rdma == {"rdma/a": 1, "rdma/b": 2}
    assert site.pod.rdma == {"rdma/a": 1}


def test_a_namespace_is_reached_in_one_way_whichever_rule_leads_there(tmp_path: Path) -> None:
    rules = "[[jobs]]\naccount = 'a'\nnamespace = 'x'\nkubeconfig = '/theirs'\n"
    site = config(rules + "[[jobs]]\npartition = 'p'\nnamespace = 'x'\n[[jobs]]\nnamespace = 'y'\n", tmp_path)
    assert site.namespace_of(Kind(partition="p")) == "x"
    assert site.kubeconfig_of("x") == Path("/theirs")
    assert [site.kubeconfig_of(name) for name in ("y", "slurm-jobs", "elsewhere")] == [None, None, None]
