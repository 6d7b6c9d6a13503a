"""bridge.toml: what is wrong with it is said with the key."""

from pathlib import Path

import pytest

from bridge.config import load
from bridge.config.servers import Cluster, Slurmrest
from bridge.errors import ConfigError

_TOML = """
[cluster]
name = "demo"
tag = "demo"
[kubernetes]
kubeconfig = "/k"
[pod]
max_cpus = 2
max_memory = "4Gi"
[slurmrest]
url = "https://slurmrestd:6820"
"""
_USER = 'service_user = "op"\n'
_FILE = 'service_token_file = "/etc/slurm-k8s-bridge/token"\n'


def slurmrest(tmp_path: Path, lines: str) -> Slurmrest:
    file = tmp_path / "bridge.toml"
    file.write_text(_TOML + lines)
    section = load(file).slurmrest
    assert section is not None
    return section


def test_by_default_nobodys_rights_but_the_owners(tmp_path: Path) -> None:
    section = slurmrest(tmp_path, "")
    assert (section.tier, section.has_service) == ("owner", False)


@pytest.mark.parametrize("tier", ["service", "administrator"])
def test_a_tier_with_its_token(tmp_path: Path, tier: str) -> None:
    section = slurmrest(tmp_path, f'tier = "{tier}"\n' + _USER + _FILE)
    assert (section.tier, section.has_service, section.service_user) == (tier, True, "op")


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ('tier = "root"\n', "slurmrest.tier: Input should be 'owner', 'service' or 'administrator'"),
        ('tier = "service"\n' + _USER, 'tier "service" needs service_user and service_token_file'),
        ('tier = "administrator"\n' + _FILE, 'tier "administrator" needs service_user and service_token_file'),
        (_USER + _FILE, 'serve nothing in tier "owner"; choose another tier'),
        ("extend_time_limit = true\n", 'extend_time_limit needs tier "service" or "administrator"'),
        (_FILE, 'serve nothing in tier "owner"; choose another tier'),
    ],
)
def test_a_tier_without_its_token_or_a_token_without_its_tier(tmp_path: Path, lines: str, fault: str) -> None:
    with pytest.raises(ConfigError) as raised:
        slurmrest(tmp_path, lines)
    assert f"{tmp_path}/bridge.toml: slurmrest" in str(raised.value)
    assert fault in str(raised.value)


@pytest.mark.parametrize(("rule", "node"), [("{nodename}", "n1"), ("k8s-{nodename}.site", "k8s-n1.site")])
def test_slurms_name_of_a_node(rule: str, node: str) -> None:
    assert Cluster(name="demo", tag="demo", node_name=rule).slurm_node(node) == "n1"
