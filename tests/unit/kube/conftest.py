import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from bridge.config.servers import KubernetesAccess
from bridge.kube.client import KubernetesClient
from tests.fakes.httpserver import ScriptedServer

Connect = Callable[..., KubernetesClient]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Makes clients of a server; keyword arguments go into the kubeconfig's user."""
    clients: list[KubernetesClient] = []

    def make(url: str, timeout: float = 5.0, ca: Path | None = None, **user: str) -> KubernetesClient:
        path = tmp_path / "kubeconfig"
        path.write_text(kubeconfig(url, ca, **user))
        clients.append(KubernetesClient(KubernetesAccess(kubeconfig=path, timeout=timeout)))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 10
    while left := [thread for thread in threading.enumerate() if thread.name == "kube-stream"]:
        assert time.monotonic() < deadline, left
        left[0].join(0.1)


def kubeconfig(url: str, ca: Path | None = None, **user: str) -> str:
    cluster = {"server": url} | ({"certificate-authority": str(ca)} if ca else {})
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bridge",
            "contexts": [{"name": "bridge", "context": {"cluster": "it", "user": "me"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "me", "user": user}],
        }
    )
