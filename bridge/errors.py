"""One tree of errors; each leaf is a thing that somebody handles in their own way.

Library exceptions do not cross a border: `kube` and `slurmrest` raise these, chained with ``from``.
"""

_REASONS_SHOWN = 20  # of a spec: a person mends no more at once, and an answer has to fit into a frame
_REASON_LIMIT = 600  # characters of one

EMPTY_ANSWER = "empty"
"""`RemoteError.reason` of an answer of slurmrestd that holds nothing about the job."""
FOREIGN_JOB = "foreign"
"""The same of one that holds another user's job."""

CLOCK_WRONG = "clock-wrong"
"""`RemoteError.reason` where the API server is not believed, or does not believe, since this node's clock is wrong."""
SERVER_EXPIRED = "server-expired"
"""The same, since the API server's certificate has expired."""
AUTHORITY_UNKNOWN = "authority-unknown"
"""The same, since that certificate is of an authority that this node does not trust."""
CERTIFICATE_REFUSED = "certificate-refused"
"""The same, where one side does not take the other's certificate for another reason."""
TOKEN_EXPIRED = "token-expired"
"""The same, since this node's token has expired."""
CLIENT_EXPIRED = "client-expired"
"""The same, since this node's client certificate has expired."""


class BridgeError(Exception):
    """Base of all; ``str()`` is one sentence for a person."""


class ConfigError(BridgeError):
    """bridge.toml, a kubeconfig or a credential file cannot be used as it is."""


class ForeignServer(ConfigError):
    """A kubeconfig names another API server than the node's own: what is gone there may be alive here."""


class Misused(BridgeError):
    """bridgectl was called in the wrong way or place, or names a job in a way that leaves several."""


class SpecError(BridgeError):
    """The user's spec file cannot be run; ``reasons`` has every violation with path and cure."""

    def __init__(self, reasons: list[str]) -> None:
        shown = [reason[:_REASON_LIMIT] for reason in reasons[:_REASONS_SHOWN]]
        more = len(reasons) - len(shown)
        super().__init__("; ".join(shown + ([f"and {more} more"] if more else [])))
        self.reasons = reasons


class AllocationError(BridgeError):
    """The SLURM_* environment or slurmctld's answer lacks something, or contradicts itself."""


class GpusUnnamed(AllocationError):
    """slurmctld counts GPUs for the job here, and the hook's environment names none."""


class NotYet(BridgeError):
    """What is waited for is not there yet, though every server answers. Worth another try."""


class Observed(NotYet):
    """What an activity saw keeps it from its end for now; ``fault`` names the row of the fault table."""

    def __init__(self, message: str, fault: str) -> None:
        super().__init__(message)
        self.fault = fault


class RemoteError(BridgeError):
    """A server (API server or slurmrestd) did not do what was asked.

    ``status`` is the HTTP status or 0, ``reason`` the server's machine-readable word or ''.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Unavailable(RemoteError):
    """No answer, a time-out, 5xx, or 429: unknown, never absent. Worth another try."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float = 0.0) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class Unauthenticated(RemoteError):
    """The credential was not accepted: expired, revoked, or never valid."""


class Forbidden(RemoteError):
    """Known, and not allowed: RBAC, admission policy, quota, or another user's job."""


class Invalid(RemoteError):
    """The server understood and refuses the object itself (400, 422)."""


class NotFound(RemoteError):
    """The server said clearly that this does not exist."""


class Conflict(RemoteError):
    """409: the name is taken, or a precondition (uid, JSON patch test) does not hold."""


class Unsupported(RemoteError):
    """The server speaks none of the API versions that the bridge was tried with."""
