"""From an answer of slurmrestd to its content or to one of the bridge's errors.

HTTP 200 is not success: the answer has ``errors``, and since 24.11 that of a DELETE has ``status``. The error
number decides, since one number comes with several HTTP statuses (1007: 500 up to 24.05, 511 since 24.11).
"""

import json
from typing import Any

from bridge.errors import Forbidden, Invalid, NotFound, RemoteError, Unauthenticated, Unavailable

Json = dict[str, Any]

ALREADY_DONE = 2021  # ESLURM_ALREADY_DONE: the job to be cancelled has ended
NODE_STATE = 2028  # ESLURM_INVALID_NODE_STATE: a resume of a node that is not drained

_AUTHENTICATION = frozenset({1007})  # SLURM_PROTOCOL_AUTHENTICATION_ERROR: expired, revoked, of another cluster
_DENIED = frozenset({1, 2002, 2010})  # EPERM (a DELETE on 24.11), ESLURM_ACCESS_DENIED, ESLURM_USER_ID_MISSING
_UNKNOWN = frozenset({2017, 2018})  # ESLURM_INVALID_JOB_ID, ESLURM_INVALID_NODE_NAME (of an update)
_AGAIN = frozenset({2020})  # ESLURM_TRANSITION_STATE_NO_UPDATE
_REFUSALS = (range(2000, 3000), range(9000, 9100))  # slurmctld's, and slurmrestd's parser's


class UnknownPath(Exception):
    """slurmrestd does not serve this path, so not this API version either. Nothing was done."""


def content(status: int, kind: str, body: bytes) -> Json:
    """The answer's JSON, when it is a success in all three ways.

    Raises UnknownPath, or the error that the answer stands for.
    """
    if status == 401:
        raise Unauthenticated("slurmrestd wants a token", status=status)
    if status == 404 and kind.startswith("text/plain") and body:
        # slurmrestd's own words for an unknown path. A 404 of another kind is a proxy's, and says nothing.
        raise UnknownPath
    answer = _decoded(body)
    if answer is None:
        raise Unavailable(f"slurmrestd answers HTTP status {status} and no JSON object", status=status)
    for number, text in _faults(answer):
        raise _fault(number, text, status)
    if not 200 <= status < 300:
        raise Unavailable(f"slurmrestd answers HTTP status {status} without a reason", status=status)
    return answer


def _decoded(body: bytes) -> Json | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _faults(answer: Json) -> list[tuple[int, str]]:
    faults = [(_integer(fault.get("error_number")), _words(fault)) for fault in _objects(answer, "errors")]
    signalled = [_object(status, "error") for status in _objects(answer, "status")]
    return faults + [(code, str(fault.get("string"))) for fault in signalled if (code := _integer(fault.get("code")))]


def _objects(answer: Json, key: str) -> list[Json]:
    found = answer.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _object(item: Json, key: str) -> Json:
    found = item.get(key)
    return found if isinstance(found, dict) else {}


def _integer(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _words(fault: Json) -> str:
    return ": ".join(str(fault[key]) for key in ("description", "error") if fault.get(key))


def _fault(number: int, text: str, status: int) -> RemoteError:
    message, reason = f"Slurm: {text} (error {number})", str(number)
    kind: type[RemoteError] = Unavailable  # -1 too: what 24.11 says when slurmctld does not answer it in time
    if number in _AUTHENTICATION:
        kind = Unauthenticated
    elif number in _DENIED:
        kind = Forbidden
    elif number in _UNKNOWN:
        kind = NotFound
    elif number not in _AGAIN and any(number in refusals for refusals in _REFUSALS):
        kind = Invalid
    return kind(message, status=status, reason=reason)
