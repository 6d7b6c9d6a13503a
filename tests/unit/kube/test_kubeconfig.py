import base64
import json
from pathlib import Path

import pytest

from bridge.errors import ConfigError
from bridge.kube import kubeconfig
from bridge.kube.kubeconfig import Claims
from bridge.kube.library import Session


def bound(node: str = "n1", issued: int = 1000, expires: int = 2000) -> str:
    """A token as the API server makes it, of no worth."""
    told = {
        "iat": issued,
        "exp": expires,
        "kubernetes.io": {"node": {"name": node, "uid": "u"}, "serviceaccount": {"name": node}},
    }
    payload = base64.urlsafe_b64encode(json.dumps(told).encode()).rstrip(b"=").decode()
    return f"e30.{payload}.c2ln"


def test_a_token_says_its_node_and_its_life() -> None:
    assert kubeconfig.claims(bound()) == Claims("n1", "n1", "u", 1000, 2000)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a",
        "a.b.c",
        "a.!!!.c",
        "a.bnVsbA.c",
        "a.W10.c",
        "e30.eyJrdWJlcm5ldGVzLmlvIjoge319.c2ln",
        "e30.eyJpYXQiOiAieCJ9.c2ln",
    ],
)
def test_what_is_no_token_of_a_node(token: str) -> None:
    with pytest.raises(ValueError):
        kubeconfig.claims(token)


@pytest.mark.parametrize(
    ("now", "due"), [(1000, False), (1499, False), (1500, True), (1999, True), (5000, True), (999, True)]
)
def test_a_token_is_due_at_half_its_life_and_where_the_clock_is_wrong(now: float, due: bool) -> None:
    assert Claims("n1", "n1", "u", 1000, 2000).is_due(now) is due


def test_what_is_written_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    kubeconfig.replace(file, kubeconfig.written("https://api:6443", "", bound()))
    assert file.stat().st_mode & 0o777 == 0o600
    assert Session(file).host == "https://api:6443"
    assert kubeconfig.bearer(file) == kubeconfig.claims(bound())
    assert kubeconfig.address(file) == ("https://api:6443", "")
    assert f"token: {bound()}\n" in file.read_text()


def test_an_old_one_stays_where_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    kubeconfig.replace(file, "old")
    (tmp_path / ".kubeconfig.new").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        kubeconfig.replace(file, "new")
    assert file.read_text() == "old"


def test_a_link_where_the_new_one_goes_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".kubeconfig.new").symlink_to(victim)
    kubeconfig.replace(tmp_path / "kubeconfig", "new")
    assert victim.read_text() == "mine"


def test_the_authority_of_an_admins_kubeconfig_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"PEM")
    admin = {
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://a", "certificate-authority": "ca.crt"}}],
        "current-context": "c",
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(admin))
    assert kubeconfig.address(file) == ("https://a", base64.b64encode(b"PEM").decode())


@pytest.mark.parametrize("text", ["", "- a", "{", "contexts: []", "current-context: x\ncontexts: []"])
def test_what_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    for look in (kubeconfig.address, kubeconfig.bearer):
        with pytest.raises(ConfigError, match=str(file)):
            look(file)
