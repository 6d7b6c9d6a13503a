"""Enrolment, against an API server that keeps what it is told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import NotFound
from bridge.kube.enrolment import Enrolment
from bridge.kube.transport import Transport
from tests.fakes.httpserver import Answer, Received, Reply, ScriptedServer
from tests.unit.kube.conftest import kubeconfig

_GROUP = "/apis/rbac.authorization.k8s.io/v1"
_ENROLLED = "slurm-k8s-bridge/enrolled"
_ACCOUNTS = "/api/v1/namespaces/slurm-k8s-bridge/serviceaccounts"
JOBS = f"{_GROUP}/namespaces/slurm-jobs/rolebindings/slurm-k8s-bridge"
OWN = f"{_GROUP}/namespaces/slurm-k8s-bridge/rolebindings/renewal"
EVERYWHERE = f"{_GROUP}/clusterrolebindings/reader"


class Rights:
    """Accounts and bindings of one API server; ``conflicts`` writes are refused, since somebody else was sooner: who
    has enrolled ``another`` node."""

    def __init__(self) -> None:
        self.accounts: dict[str, str] = {}
        self.subjects: dict[str, list[dict[str, str]]] = {JOBS: [], OWN: [], EVERYWHERE: []}
        self.whose = {OWN: "all"}
        self.conflicts = 0
        self.another = ""
        self.asked: list[Any] = []

    def names(self) -> set[tuple[str, ...]]:
        return {tuple(subject["name"] for subject in subjects) for subjects in self.subjects.values()}

    def answer(self, request: Received) -> Answer:
        method, path = request.method, request.path
        if path.startswith("/api/v1/nodes/"):
            return Reply({"metadata": {"name": "n", "uid": "u"}}) if path[-1] != "9" else _missing()
        if path.startswith(_ACCOUNTS):
            return self._account(method, path.removeprefix(_ACCOUNTS).strip("/"), request)
        if path in self.subjects:
            return self._binding(path, request)
        below = [each for each in self.subjects if path.rsplit("/", 1)[1] in each.split("/")]
        return Reply({"items": [self._as_object(each) for each in below], "metadata": {}})

    def _account(self, method: str, name: str, request: Received) -> Answer:
        if name.endswith("/token"):
            self.asked.append(request.json()["spec"])
            return Reply({"status": {"token": "t"}}, 201)
        if method == "GET":
            items = [{"metadata": {"name": name, "labels": {_ENROLLED: of}}} for name, of in self.accounts.items()]
            return Reply({"items": items, "metadata": {}})
        if method == "DELETE" and name not in self.accounts:
            return _missing()
        if method == "DELETE":
            del self.accounts[name]
        else:
            self.accounts[name] = request.json()["metadata"]["labels"][_ENROLLED]
        return Reply({})

    def _binding(self, path: str, request: Received) -> Answer:
        if request.method == "PATCH" and self.conflicts:
            self.conflicts -= 1
            self._enroll_another(path)
            return Reply({"kind": "Status", "reason": "Conflict"}, 409)
        if request.method == "PATCH":
            self.subjects[path] = request.json()["subjects"]
        return Reply(self._as_object(path))

    def _enroll_another(self, path: str) -> None:
        if self.another:
            self.accounts[self.another] = "nodes"
            self.subjects[path] = [{"kind": "ServiceAccount", "name": self.another, "namespace": "slurm-k8s-bridge"}]

    def _as_object(self, path: str) -> dict[str, Any]:
        parts = path.split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        labels = {"slurm-k8s-bridge/binds": self.whose.get(path, "nodes")}
        metadata = {"name": parts[-1], "namespace": namespace, "resourceVersion": "7", "labels": labels}
        return {"metadata": metadata, "subjects": self.subjects[path]}


def _missing() -> Reply:
    return Reply({"kind": "Status", "reason": "NotFound", "message": "no"}, 404)


@pytest.fixture
def rights(server: ScriptedServer) -> Rights:
    kept = Rights()
    server.route = kept.answer
    return kept


@pytest.fixture
def enrolment(server: ScriptedServer, tmp_path: Path) -> Iterator[Enrolment]:
    file = tmp_path / "admin"
    file.write_text(kubeconfig(server.url, token="admin"))
    transport = Transport(file, 5.0)
    yield Enrolment(transport)
    transport.close()


def test_an_enrolled_node_is_bound_everywhere_and_has_a_token_of_its_node(enrolment: Enrolment, rights: Rights) -> None:
    assert enrolment.enroll("n1", 3600) == "t"
    enrolment.enroll("n2", 3600)
    assert rights.names() == {("n1", "n2")}
    bound = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}
    assert rights.asked[0] == {"expirationSeconds": 3600, "boundObjectRef": bound}


def test_a_revoked_node_is_bound_nowhere_and_its_account_is_gone(enrolment: Enrolment, rights: Rights) -> None:
    for node in ("n1", "n2"):
        enrolment.enroll(node, 3600)
    for _ in range(2):  # again it is no fault
        enrolment.revoke("n1")
    assert (rights.names(), rights.accounts) == ({("n2",)}, {"n2": "nodes"})


def test_a_namespace_that_is_new_gets_all_nodes(enrolment: Enrolment, rights: Rights) -> None:
    enrolment.enroll("n1", 3600)
    rights.subjects[f"{_GROUP}/namespaces/physics/rolebindings/slurm-k8s-bridge"] = []
    assert enrolment.bind() == ["n1"]
    assert rights.names() == {("n1",)}


def test_whom_an_admin_has_bound_by_hand_stays(enrolment: Enrolment, rights: Rights) -> None:
    rights.subjects[JOBS] = [{"kind": "User", "name": "slurm-k8s-bridge:n7"}]
    enrolment.enroll("n1", 3600)
    assert [subject["name"] for subject in rights.subjects[JOBS]] == ["slurm-k8s-bridge:n7", "n1"]


def test_two_admins_at_once_lose_nothing(enrolment: Enrolment, rights: Rights) -> None:
    rights.conflicts = 2
    enrolment.enroll("n1", 3600)
    assert rights.names() == {("n1",)}


def test_whom_another_admin_enrolls_at_the_same_time_stays_bound(enrolment: Enrolment, rights: Rights) -> None:
    rights.conflicts, rights.another = len(rights.subjects), "n2"
    enrolment.enroll("n1", 3600)
    assert rights.names() == {("n1", "n2")}


def test_a_node_that_kubernetes_does_not_know_gets_nothing(enrolment: Enrolment, rights: Rights) -> None:
    with pytest.raises(NotFound):
        enrolment.enroll("n9", 3600)
    assert (rights.accounts, rights.asked) == ({}, [])


def test_without_rbac_nothing_seems_done(enrolment: Enrolment, rights: Rights) -> None:
    rights.subjects.clear()
    with pytest.raises(NotFound, match="no binding"):
        enrolment.enroll("n1", 3600)


def test_a_tenant_has_accounts_of_its_own_which_no_other_namespace_knows(enrolment: Enrolment, rights: Rights) -> None:
    physics = f"{_GROUP}/namespaces/physics/rolebindings/slurm-k8s-bridge"
    rights.subjects[physics], rights.whose[physics] = [], "physics"
    enrolment.enroll("n1", 3600)
    enrolment.enroll("n1", 3600, "physics")
    bound = {path: [subject["name"] for subject in rights.subjects[path]] for path in rights.subjects}
    assert bound == {JOBS: ["n1"], EVERYWHERE: ["n1"], OWN: ["n1", "physics.n1"], physics: ["physics.n1"]}
    enrolment.revoke("n1")
    assert (rights.names(), rights.accounts) == ({()}, {})
