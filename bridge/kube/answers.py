"""From an HTTP answer of the API server to an object or to one of the bridge's errors."""

import json
from collections.abc import Mapping
from typing import Any

from bridge.errors import Conflict, Forbidden, Invalid, NotFound, RemoteError, Unauthenticated, Unavailable
from bridge.kube.api import Object
from bridge.kube.shape import is_known

_RETRY_LIMIT = 60.0  # seconds that a Retry-After may ask for
_MESSAGE_LIMIT = 2000  # characters; an admission webhook may write a novel
_BY_STATUS: dict[int, type[RemoteError]] = {401: Unauthenticated, 403: Forbidden, 409: Conflict}
_UNKNOWN = (404, 408, 410, 429)  # besides 5xx and 3xx: say nothing about the object


def decoded(body: bytes) -> Object:
    """The JSON object of a successful answer. Raises Unavailable when it is none: a proxy answered."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unavailable("The API server's answer is not JSON; is there a proxy before it?") from error
    if not isinstance(answer, dict):
        raise Unavailable("The API server's answer is not a JSON object; is there a proxy before it?")
    return answer


def slim(item: Any) -> Object:
    """An object of a list or watch, without managedFields, which are half of it and of no use to the bridge.

    Raises Unavailable for what is none: nothing that Kubernetes would say.
    """
    if not is_known(item):
        raise Unavailable("The API server's answer has what is no object of Kubernetes; is there a proxy before it?")
    item["metadata"].pop("managedFields", None)
    return dict(item)


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> RemoteError:
    """The error that a failed answer stands for.

    404 is NotFound only as a Status object that says so: "404 page not found" in plain text comes from an
    API group that is not served (the CRD is missing, the API server is still starting) or from a proxy,
    and proves nothing about the object.
    """
    told = _status_object(body)
    reason = str(told.get("reason") or "")
    message = f"Kubernetes: {str(told.get('message') or '')[:_MESSAGE_LIMIT] or f'HTTP status {status}'}"
    if status == 404 and reason == "NotFound":
        return NotFound(message, status=status, reason=reason)
    if status < 400 or status >= 500 or status in _UNKNOWN:
        return Unavailable(message, status=status, reason=reason, retry_after=_retry_after(headers))
    return _BY_STATUS.get(status, Invalid)(message, status=status, reason=reason)


def _status_object(body: bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) and told.get("kind") == "Status" else {}


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds; the API server sends whole seconds, never a date. A proxy's word for a day is not taken."""
    text = headers.get("Retry-After", "")
    return min(float(text), _RETRY_LIMIT) if text.isdecimal() else 0.0
