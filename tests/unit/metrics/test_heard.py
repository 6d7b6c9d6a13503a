"""Both clients tell of each answer, and of each that did not come."""

from pathlib import Path

import httpx
import pytest

from bridge.config.servers import KubernetesAccess, Slurmrest
from bridge.errors import BridgeError, NotFound, Unavailable
from bridge.kube.client import KubernetesClient
from bridge.slurmrest.api import Credential
from bridge.slurmrest.client import SlurmRestClient
from tests.fakes.httpserver import Reply, ScriptedServer
from tests.unit.kube.conftest import kubeconfig

NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "u"}}
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


def test_the_api_servers(tmp_path: Path) -> None:
    heard: list[tuple[str, int | None]] = []
    file = tmp_path / "kubeconfig"
    with ScriptedServer() as server:
        file.write_text(kubeconfig(server.url))
        access = KubernetesAccess(kubeconfig=file, timeout=1.0)
        client = KubernetesClient(access, told=lambda verb, status: heard.append((verb, status)))
        server.answers(Reply(NODE), Reply(MISSING, 404))
        client.node("n1")
        with pytest.raises(NotFound):
            client.node("n2")
    with pytest.raises(Unavailable):
        client.create_workload("jobs", {})
    client.close()
    assert heard == [("GET", 200), ("GET", 404), ("POST", None)]


def test_slurmrestds() -> None:
    heard: list[tuple[str, int | None]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            raise httpx.ConnectError("refused")
        return httpx.Response(500, json={"errors": [{"error_number": 2017, "error": "Invalid job id"}]})

    transport = httpx.MockTransport(answer)
    told = lambda verb, status: heard.append((verb, status))  # noqa: E731
    client = SlurmRestClient(Slurmrest(url="http://127.0.0.1:6820"), transport, told)
    with pytest.raises(BridgeError):
        client.job(Credential("ml", "t"), 7)
    with pytest.raises(BridgeError):
        client.drain(Credential("ml", "t"), "n1", "why")
    client.close()
    assert heard[0] == ("GET", 500)
    assert heard[-1] == ("POST", None)
