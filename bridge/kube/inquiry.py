"""What `bridgectl doctor` asks the API server: what there is, and what would be let or refused. It changes nothing."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from bridge.errors import Forbidden, NotFound, Unavailable
from bridge.kube.answers import slim
from bridge.kube.api import Object
from bridge.kube.rights import KUBEFLOW, Right
from bridge.kube.standing import Standing
from bridge.kube.transport import Request, Transport

_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_DRY = {"dryRun": "All"}


class Inquiry:
    """One credential's view. Raises the errors of `bridge.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def close(self) -> None:
        self._transport.close()

    def standing(self) -> Standing:
        """How credential and clock are, as far as the answers so far have told."""
        return self._transport.standing()

    def identity(self) -> str:
        """The Node that the credential is bound to, '' for none."""
        return self._transport.identity()

    def version(self) -> str:
        """As `v1.36.1`."""
        return str(self._get("/version").get("gitVersion") or "")

    def node(self, name: str) -> Object:
        return slim(self._get(f"/api/v1/nodes/{quote(name)}"))

    def may(self, right: Right, namespace: str) -> bool:
        """Whether the API server would let this credential; ``namespace`` '' for the cluster."""
        resource, _, part = right.resource.partition("/")
        asked = {"verb": right.verb, "group": right.group, "resource": resource}
        asked |= {"subresource": part} if part else {}
        asked |= {"namespace": namespace} if namespace else {}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        status = self._transport.call(Request("POST", _REVIEWS, body=body)).get("status")
        if not isinstance(status, dict) or not isinstance(status.get("allowed"), bool):
            raise Unavailable("The API server's answer to an access review says neither yes nor no")
        return bool(status["allowed"])

    def serves_workloads(self) -> bool:
        """Whether PyTorchJobs are known here. Only an answer that names the groups proves that they are not."""
        groups = self._get("/apis").get("groups")
        if not isinstance(groups, list):
            raise Unavailable("The API server's answer about its groups has none")
        if KUBEFLOW not in [group.get("name") for group in groups]:
            return False
        resources = self._get(f"/apis/{KUBEFLOW}/v1").get("resources") or []
        return "pytorchjobs" in [resource.get("name") for resource in resources]

    def workload_fields(self) -> set[str]:
        """Dotted paths of the fields below `spec` that this CRD has, three levels of them."""
        schemas = (self._get(f"/openapi/v3/apis/{KUBEFLOW}/v1").get("components") or {}).get("schemas") or {}
        found: Any = next((schema for name, schema in schemas.items() if name.endswith("PyTorchJob")), {})
        return set(_fields(((found.get("properties") or {}).get("spec") or {}), "", 3))

    def refusal_of_workload(self, namespace: str, manifest: Object) -> str:
        """Why this workload would not be created, '' where it would."""
        path = f"/apis/{KUBEFLOW}/v1/namespaces/{quote(namespace)}/pytorchjobs"
        return self._refusal(Request("POST", path, _DRY, manifest))

    def refusal_of_event(self, namespace: str, event: Object) -> str:
        """The same of an event."""
        return self._refusal(Request("POST", f"/api/v1/namespaces/{quote(namespace)}/events", _DRY, event))

    # -- what an admin may see

    def policies(self) -> list[Object]:
        """The admission policies of the cluster."""
        return self._all(_POLICIES)

    def policy_bindings(self) -> list[Object]:
        """What puts them in force."""
        return self._all(f"{_POLICIES.removesuffix('policies')}policybindings")

    def namespace(self, name: str) -> Object | None:
        """None where there is none."""
        try:
            return slim(self._get(f"/api/v1/namespaces/{quote(name)}"))
        except NotFound:
            return None

    def deployments(self) -> list[Object]:
        """Of all namespaces."""
        return self._all("/apis/apps/v1/deployments")

    def nodes(self) -> list[Object]:
        return self._all("/api/v1/nodes")

    def pods(self) -> list[Object]:
        """Of all namespaces."""
        return self._all("/api/v1/pods")

    def _refusal(self, request: Request) -> str:
        try:
            self._transport.call(request)
        except Forbidden as error:
            return str(error)
        return ""

    def _get(self, path: str) -> Object:
        return self._transport.call(Request("GET", path))

    def _all(self, path: str) -> list[Object]:
        return [slim(item) for items, _ in self._transport.pages(path, {}) for item in items]


def _fields(schema: Any, before: str, depth: int) -> Iterator[str]:
    for name, inner in (schema.get("properties") or {}).items():
        yield f"{before}{name}"
        if depth > 1:
            yield from _fields(inner, f"{before}{name}.", depth - 1)
