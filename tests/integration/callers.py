"""Whoever stands before the API server with a credential: nodes, and those who would be one."""

import json
import re
import ssl
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from bridge import wellknown
from bridge.config import Config
from bridge.job.ids import RunKey, workload_name
from bridge.job.placement import Placement
from bridge.job.render import render

from .specs import container_job
from .stack import Stack

ACCOUNTS = f"/api/v1/namespaces/{wellknown.ACCOUNTS}/serviceaccounts"
PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True)
class Caller:
    """One credential."""

    server: str
    trust: ssl.SSLContext
    token: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, str]:
        """Status and body of the answer."""
        headers = {"Content-Type": kind, **self.headers}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.server + path, data=data, method=method, headers=headers)
        try:
            with urlopen(request, timeout=30, context=self.trust) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()


def trust(stack: Stack) -> ssl.SSLContext:
    """Of the stack's API server."""
    return ssl.create_default_context(cafile=str(Path(str(stack.description["run_dir"])) / "pki" / "kubernetes-ca.crt"))


def of_node(stack: Stack, node: str) -> Caller:
    """The node's daemon, with the credential that it has now."""
    text = stack.exec(node, "cat", wellknown.KUBECONFIG)
    found = re.search(r"\btoken: *(\S+)", text)
    assert found
    return Caller(str(stack.description["apiserver"]), trust(stack), found[1])


def token(stack: Stack, account: str, node: str = "") -> str:
    """A token of this account, bound to this Node; to none where that is ''."""
    words = ["-n", wellknown.ACCOUNTS, "create", "token", account, "--duration", "10m"]
    if node:
        uid = stack.kubectl("get", "node", node, "-o", "jsonpath={.metadata.uid}")
        words += ["--bound-object-kind", "Node", "--bound-object-name", node, "--bound-object-uid", uid]
    return stack.kubectl(*words).strip()


def rendered(stack: Stack, job: int, *nodes: str) -> dict[str, Any]:
    """The workload of a run that Slurm knows nothing of, as the bridge renders it for the stack."""
    key = RunKey("demo", job, 0)
    sizes = {"cpus_per_node": 1, "memory_mib": 256, "gpus_per_node": 0, "gpu_resource": "nvidia.com/gpu"}
    user = {"uid": 1001, "gid": 1001, "groups": (1001,), "user": "ml", "variables": {}}
    name = workload_name("demo", key)
    home = {"name": name, "namespace": stack.namespace, "tag": "demo", "key": key, "start_time": 1}
    placement = Placement(**home, **sizes, **user, nodes=nodes)  # type: ignore[arg-type]
    config = Config.model_validate(
        {
            "cluster": {"name": "demo", "tag": "demo"},
            "kubernetes": {"kubeconfig": "/nowhere"},
            "pod": {"max_cpus": 2, "max_memory": "4Gi"},
        }
    )
    return render(container_job(stack.images["small"], "true").encode(), placement, config).manifest


def workloads(stack: Stack) -> str:
    """Path of the workloads."""
    return f"/apis/kubeflow.org/v1/namespaces/{stack.namespace}/pytorchjobs"


def pods(stack: Stack) -> str:
    """Path of their pods."""
    return f"/api/v1/namespaces/{stack.namespace}/pods"


def kubelet(stack: Stack, caller: Caller, node: str, path: str) -> str:
    """What the kubelet of a node answers to this credential."""
    ask = ["curl", "-sk", "--max-time", "20", "-H", f"Authorization: Bearer {caller.token}"]
    where = [f"https://{node}:10250/{path}"]
    login = stack.container("login")
    done = subprocess.run(["docker", "exec", login, *ask, *where], capture_output=True, text=True, check=False)
    return done.stdout
