"""The kubeconfigs."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.doctor.checks.credential import CHECK, Credential
from bridge.doctor.files import FileFacts
from tests.fakes.httpserver import Reply, ScriptedServer
from tests.unit.kube.conftest import kubeconfig
from tests.unit.kube.test_kubeconfig import bound

from .given import Somewhere, judged, site

FILE = FileFacts("/k", "file", "slurm-k8s-bridge", "slurm-k8s-bridge", 0o600)
GOOD = Credential(FILE, "compute1", "compute1")


def test_it_is_private_of_this_node_and_taken() -> None:
    assert judged(CHECK, (GOOD,)) == judged(CHECK, (replace(GOOD, node=""),)) == []
    assert judged(CHECK, (replace(GOOD, file=replace(FILE, mode=0o640)),)) == ["kubeconfig-open"]
    assert judged(CHECK, (replace(GOOD, file=replace(FILE, owner="root")),)) == ["kubeconfig-open"]
    assert judged(CHECK, (replace(GOOD, node="compute2"),)) == ["kubeconfig-of-another"]
    assert judged(CHECK, (GOOD, replace(GOOD, refused="HTTP status 401"))) == ["kubernetes-refuses"]
    assert judged(CHECK, (replace(GOOD, warnings=(("credential-ends", "soon"),)),)) == ["credential-warns"]


@pytest.mark.parametrize(
    ("node", "life", "status", "names"),
    [
        ("compute1", 86_400, 200, {"kubeconfig-open"}),
        ("compute2", 86_400, 200, {"kubeconfig-open", "kubeconfig-of-another"}),
        ("compute1", 60, 200, {"kubeconfig-open", "credential-warns"}),
        ("compute1", 86_400, 401, {"kubeconfig-open", "kubernetes-refuses"}),
    ],
)
def test_the_api_server_is_asked(tmp_path: Path, node: str, life: int, status: int, names: set[str]) -> None:
    """Not as the daemon: its rights are measured by what it asks."""
    file, now = tmp_path / "kubeconfig", int(time.time())
    with ScriptedServer() as server:
        server.route = lambda _: Reply({"gitVersion": "v1.36.1"}, status)
        file.write_text(kubeconfig(server.url, token=bound(node, now - 86_400, now + life)))
        found = CHECK.look(Somewhere(tmp_path, config=site(kubernetes={"kubeconfig": str(file)})))
        assert server.received[0].headers["User-Agent"].startswith("slurm-k8s-bridge-doctor/")
    assert set(judged(CHECK, found)) == names, "and the test's own file is nobody's"


def test_one_that_is_not_there(tmp_path: Path) -> None:
    found = CHECK.look(Somewhere(tmp_path, config=site(kubernetes={"kubeconfig": str(tmp_path / "none")})))
    assert judged(CHECK, found) == ["kubernetes-refuses"]
