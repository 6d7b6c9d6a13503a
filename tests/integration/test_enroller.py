"""Who may enroll nodes and nothing else: all rights of the small role are used, and what goes beyond is refused."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from . import audit
from .callers import ACCOUNTS, MERGE, Caller, of_node, trust
from .detours import client_pair, with_client_certificate
from .stack import Stack, eventually

_RBAC = Path(__file__).parents[2] / "rbac"
_GROUP, _NAME, _NODE = "slurm-k8s-bridge-enrollers", "approver", "to-enroll"
_FILE = "/root/approver.kubeconfig"
_BINDINGS = "/apis/rbac.authorization.k8s.io/v1"
_OWN = f"{_BINDINGS}/namespaces/slurm-jobs/rolebindings/slurm-k8s-bridge"
_READER = f"{_BINDINGS}/clusterrolebindings/slurm-k8s-bridge-node-reader"
_ANY = "/api/v1/nodes/compute1"
_ADMIN = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
_MINE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": _NAME}


@pytest.fixture
def approver(stack: Stack, tmp_path: Path) -> Caller:
    """A member of the group."""
    pair = tmp_path / "pair.pem"
    pair.write_text("".join(client_pair(stack, _NAME, 1, _GROUP)))
    caller = replace(of_node(stack, "compute1"), token="", trust=trust(stack))
    caller.trust.load_cert_chain(pair)
    return caller


@contextmanager
def a_node(stack: Stack) -> Iterator[None]:
    """One that no daemon runs on, and the approver's kubeconfig on the login node."""
    metadata = {"name": _NODE}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"unschedulable": True}}
    admins = yaml.safe_load(stack.exec("login", "cat", "/root/.kube/config"))
    (user,) = admins["users"]
    text = yaml.safe_dump(admins | {"users": [user | {"user": {"token": "x"}}]})
    own = with_client_certificate(text, *client_pair(stack, _NAME, 1, _GROUP))
    stack.kubectl("create", "-f", "-", stdin=json.dumps(node))
    try:
        stack.exec("login", "install", "-m", "0600", "/dev/stdin", _FILE, stdin=own)
        yield
    finally:
        stack.exec("login", "rm", "-f", _FILE)
        stack.exec("login", "bridgectl", "node", "revoke", _NODE)
        stack.kubectl("delete", "node", _NODE)


def granted() -> set[tuple[str, str]]:
    """Verb and resource, as `rbac/` has them."""
    documents = list(yaml.safe_load_all((_RBAC / "enroller" / "role.yaml").read_text()))
    return {
        (verb, resource)
        for role in documents
        for rule in role.get("rules", [])
        for verb in rule["verbs"]
        for resource in rule["resources"]
    } - {("bind", "roles"), ("bind", "clusterroles")}  # which nobody asks for: they are looked at with a patch


def used(stack: Stack, since: str) -> set[tuple[str, str]]:
    """What the approver has done with bridgectl, by the API server's audit log."""
    found = set()
    for entry in audit.entries(Path(stack.description["audit_log"])):
        if audit.who(entry) == _NAME and entry["requestReceivedTimestamp"] >= since:
            assert entry["responseStatus"]["code"] < 400, entry
            of = entry["objectRef"]
            found.add((entry["verb"], "/".join(filter(None, (of["resource"], of.get("subresource"))))))
    return found


def test_the_small_role_enrolls_and_revokes(stack: Stack) -> None:
    def bridgectl(*words: str) -> str:
        return stack.exec("login", "bridgectl", "node", *words, "--kubeconfig", _FILE)

    began = datetime.now(UTC).isoformat()
    with a_node(stack):
        token = re.search(r"\btoken: *(\S+)", bridgectl("enroll", _NODE))
        assert token
        enrolled = replace(of_node(stack, "compute1"), token=token[1])
        eventually(lambda: enrolled.ask("GET", _ANY)[0] == 200, 20, "its rights")
        assert _NODE in bridgectl("bind").split()
        bridgectl("revoke", _NODE)
        eventually(lambda: enrolled.ask("GET", _ANY)[0] in (401, 403), 20, "a refusal")
    # What is not there yet is made by a patch, which is `create` to RBAC and `patch` to the audit log.
    assert used(stack, began) == granted() - {("create", "serviceaccounts")}


def bound_to(kind: str, name: str) -> dict[str, Any]:
    return {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}}


def test_the_small_role_does_nothing_else(stack: Stack, approver: Caller) -> None:
    """Above all it gives no rights to itself, and has no token that is not a node's."""
    subjects = json.loads(approver.ask("GET", _OWN)[1])["subjects"]
    tokens = f"{ACCOUNTS}/compute1/token"
    for method, path, body, rule in (
        ("PATCH", _OWN, {"subjects": [*subjects, _MINE]}, "binding-subjects: "),
        ("PATCH", _READER, {"subjects": [_MINE]}, "binding-subjects: "),
        ("PATCH", _OWN, {"metadata": {"labels": {"slurm-k8s-bridge/binds": "all"}}}, "binding-labels: "),
        ("PATCH", _OWN, {"metadata": {"labels": {"slurm-k8s-bridge/binds": None}}}, "binding-labels: "),
        ("PATCH", _OWN, {"roleRef": _ADMIN}, "permissions not currently held"),
        ("POST", tokens, {"spec": {}}, "account-node: "),
        ("POST", tokens, bound_to("Node", "compute2"), "account-node: "),
        (
            "POST",
            tokens,
            {"spec": bound_to("Node", "compute1")["spec"] | {"expirationSeconds": 31_536_000}},
            "account-life: ",
        ),
        ("POST", "/api/v1/namespaces/slurm-jobs/serviceaccounts/default/token", {}, "cannot create resource"),
        ("POST", f"{_BINDINGS}/clusterrolebindings", {"metadata": {"name": "x"}, "roleRef": _ADMIN}, "cannot create"),
        ("PATCH", f"{_BINDINGS}/clusterrolebindings/cluster-admin", {"subjects": [_MINE]}, "cannot patch resource"),
        ("PATCH", f"{_BINDINGS}/clusterrolebindings/slurm-k8s-bridge-enroller", {}, "cannot patch resource"),
        ("PATCH", f"{_BINDINGS}/namespaces/slurm-jobs/roles/slurm-k8s-bridge", {}, "cannot patch resource"),
        ("GET", "/api/v1/namespaces/slurm-jobs/secrets", None, "cannot list resource"),
        ("GET", "/api/v1/namespaces/slurm-jobs/pods", None, "cannot list resource"),
        ("GET", "/api/v1/nodes", None, "cannot list resource"),
        ("POST", "/apis/kubeflow.org/v1/namespaces/slurm-jobs/pytorchjobs", {}, "cannot create resource"),
        ("DELETE", "/api/v1/nodes/compute1", None, "cannot delete resource"),
    ):
        status, answer = approver.ask(method, path, body, MERGE if method == "PATCH" else "application/json")
        assert status in (403, 422), (method, path, status, answer)
        assert rule in json.loads(answer)["message"], (method, path, answer)
    assert json.loads(stack.kubectl("get", "--raw", _OWN))["subjects"] == subjects
