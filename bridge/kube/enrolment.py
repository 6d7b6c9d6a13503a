"""Nodes' identities, made and taken back with an admin's rights: an account of the node's name, its place in the
bindings that `rbac/` ships without subjects, and a token bound to the Node.

A namespace may want accounts of its own, TENANT.NODE beside NODE: its binding says for which tenant's it is.
"""

from collections.abc import Set
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from bridge import wellknown
from bridge.errors import Conflict, NotFound, Unavailable
from bridge.kube.api import Object
from bridge.kube.transport import Request, Transport

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_ACCOUNTS = f"/api/v1/namespaces/{wellknown.ACCOUNTS}/serviceaccounts"
_NODES, _EVERYBODY = "nodes", "all"  # of which accounts a binding is, beside the names of tenants
_TRIES = 10  # of a binding that other admins write at the same time


class Enrolment:
    """Everything of it may be done again at any time: it sets what should be, whatever was."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def enroll(self, node: str, seconds: int, tenant: str = "") -> str:
        """A token for this node, which is bound wherever it should be from now on. NotFound: no such Node."""
        uid = self._transport.call(Request("GET", f"/api/v1/nodes/{quote(node)}"))["metadata"]["uid"]
        name = account(node, tenant)
        self._make_account(name, tenant)
        self.bind()
        return token(self._transport, name, node, str(uid), seconds)

    def revoke(self, node: str) -> None:
        """The node's next request is refused. Its accounts go, too: a token of theirs never comes to life again."""
        gone = {name for name, tenant in self._accounts().items() if name == account(node, tenant)}
        self._write(gone)
        for name in gone:
            with suppress(NotFound):
                self._transport.call(Request("DELETE", _path(name)))

    def bind(self) -> list[str]:
        """All enrolled nodes may work in all namespaces that have the bridge's Role; the accounts' names."""
        self._write(frozenset())
        return sorted(self._accounts())

    def _make_account(self, name: str, tenant: str) -> None:
        made = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "labels": {wellknown.LABEL_ENROLLED: tenant or _NODES}},
            "automountServiceAccountToken": False,
        }
        query = {"fieldManager": "bridgectl", "force": "true"}
        self._transport.call(Request("PATCH", _path(name), query, made, _APPLY))

    def _accounts(self) -> dict[str, str]:
        """The tenant of each, '' for a node's usual one."""
        found = {}
        for item in self._all(_ACCOUNTS, {"labelSelector": wellknown.LABEL_ENROLLED}):
            tenant = str(item["metadata"]["labels"][wellknown.LABEL_ENROLLED])
            found[str(item["metadata"]["name"])] = "" if tenant == _NODES else tenant
        return found

    def _write(self, gone: Set[str]) -> None:
        """Every binding's subjects are its accounts but those. Raises NotFound where `rbac/` has not been applied."""
        selected = {"labelSelector": wellknown.LABEL_BINDS}
        found = [*self._all(f"{_RBAC}/rolebindings", selected), *self._all(f"{_RBAC}/clusterrolebindings", selected)]
        if not found:
            raise NotFound("Kubernetes has no binding for the nodes of the bridge")
        for metadata in (binding["metadata"] for binding in found):
            space = (
                f"/namespaces/{metadata['namespace']}/rolebindings"
                if metadata.get("namespace")
                else "/clusterrolebindings"
            )
            whose = metadata["labels"][wellknown.LABEL_BINDS]
            self._bind(f"{_RBAC}{space}/{metadata['name']}", whose, gone)

    def _bind(self, path: str, whose: str, gone: Set[str]) -> None:
        """The binding's subjects are these accounts, and whoever else an admin has written there.

        The accounts are read behind the binding: who enrolls a node meanwhile makes its account first, and finds the
        binding changed or changes it afterwards. The other way round the later of two would take away what the earlier
        one has given.
        """
        for left in reversed(range(_TRIES)):
            binding = self._transport.call(Request("GET", path))
            before = binding.get("subjects") or []
            others = [subject for subject in before if not _is_ours(subject)]
            subjects = others + [_subject(name) for name in sorted(self._names(whose) - gone)]
            if subjects == before:
                return
            change = {"metadata": {"resourceVersion": binding["metadata"]["resourceVersion"]}, "subjects": subjects}
            try:
                self._transport.call(Request("PATCH", path, body=change, content_type=_MERGE))
            except Conflict:
                if not left:
                    raise
            else:
                return

    def _names(self, whose: str) -> set[str]:
        """Of the accounts that such a binding is for."""
        return {name for name, tenant in self._accounts().items() if whose in (_EVERYBODY, tenant or _NODES)}

    def _all(self, path: str, query: dict[str, str]) -> list[Object]:
        return [item for items, _ in self._transport.pages(path, query) for item in items]


def account(node: str, tenant: str = "") -> str:
    """Name of a node's account."""
    return f"{tenant}.{node}" if tenant else node


def token(transport: Transport, name: str, node: str, uid: str, seconds: int) -> str:
    """A new token of this account, bound to this Node: with the rights of an admin, or of the node itself."""
    bound = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": seconds, "boundObjectRef": bound},
    }
    answer = transport.call(Request("POST", f"{_path(name)}/token", body=asked))
    made = (answer.get("status") or {}).get("token")
    if not isinstance(made, str) or not made:
        raise Unavailable("The API server's answer to a request for a token has none")
    return made


def _path(name: str) -> str:
    return f"{_ACCOUNTS}/{quote(name)}"


def _subject(name: str) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": wellknown.ACCOUNTS}


def _is_ours(subject: dict[str, Any]) -> bool:
    return subject.get("kind") == "ServiceAccount" and subject.get("namespace") == wellknown.ACCOUNTS
