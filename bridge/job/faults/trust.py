"""Rows of an API server and a node that do not take each other: a clock, a date, an authority, a credential.

None is a node's own: clocks, certificates and tokens come from where all nodes get theirs, so no node is drained.
"""

from bridge.errors import (
    AUTHORITY_UNKNOWN,
    CERTIFICATE_REFUSED,
    CLIENT_EXPIRED,
    CLOCK_WRONG,
    SERVER_EXPIRED,
    TOKEN_EXPIRED,
)
from bridge.job.faults.row import ALWAYS, Fault, Subject, Verdict

API_CLOCK = Fault(
    "api-clock",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the clock of this node is wrong, so it cannot tell whether the API server's certificate is good ({message})",
    "the site sets it (timedatectl, chronyc tracking); the bridge goes on by itself",
    "TLS: certificate not valid yet; or expired, by a clock that is another than that of the API server's last answers",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_SERVER_EXPIRED = Fault(
    "api-server-expired",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server's certificate, or its authority's, has expired ({message})",
    "the site renews it, or sets the node's clock where that is wrong; the bridge goes on by itself",
    "TLS: certificate has expired",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_AUTHORITY = Fault(
    "api-authority",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server's certificate is of an authority that this node does not trust ({message})",
    "where the authority is a new one, the site gives the node its certificate (`bridgectl node enroll`); the bridge "
    "reads it by itself, and sends nothing before",
    "TLS: self-signed, of an unknown issuer, or signed by another key",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_CERTIFICATE = Fault(
    "api-certificate",
    Subject.API_SERVER,
    Verdict.SHARED,
    "API server and node do not accept each other's certificate ({message})",
    "the site looks at the address in the kubeconfig, and at what stands before the API server",
    "TLS: another host name, or a proxy that refuses the client",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_CREDENTIAL = Fault(
    "api-credential",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server does not accept this node's credential ({message})",
    "the site renews it (`bridgectl node enroll`); the bridge reads it again by itself",
    "API server: 401, after the credential files were read again: revoked, or of another cluster",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_TOKEN_EXPIRED = Fault(
    "api-token-expired",
    Subject.API_SERVER,
    Verdict.SHARED,
    "this node's token for the API server has expired ({message})",
    "the site enrolls the node again (`bridgectl node enroll`), and sees why it was not renewed (journalctl -u "
    "slurm-k8s-bridge-renew); the bridge reads it by itself",
    "API server: 401, and the token's own date",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_CLIENT_EXPIRED = Fault(
    "api-client-expired",
    Subject.API_SERVER,
    Verdict.SHARED,
    "this node's client certificate for the API server has expired ({message})",
    "the site puts a new one into the kubeconfig; the bridge reads it by itself",
    "API server: 401, and the certificate's own date",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_KUBECONFIG = Fault(
    "api-kubeconfig",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the kubeconfig for the namespace of this job cannot be used on this node ({message})",
    "the site mends the file that [kubernetes] or [[jobs]] of bridge.toml names; the bridge reads it again by itself",
    "the file: missing, closed to the user slurm-k8s-bridge, no kubeconfig, or of another API server",
    None,
    ALWAYS,
    Verdict.RETRY,
)

ROWS = (
    API_CLOCK,
    API_SERVER_EXPIRED,
    API_AUTHORITY,
    API_CERTIFICATE,
    API_CREDENTIAL,
    API_TOKEN_EXPIRED,
    API_CLIENT_EXPIRED,
    API_KUBECONFIG,
)

BY_REASON = {
    CLOCK_WRONG: API_CLOCK,
    SERVER_EXPIRED: API_SERVER_EXPIRED,
    AUTHORITY_UNKNOWN: API_AUTHORITY,
    CERTIFICATE_REFUSED: API_CERTIFICATE,
    TOKEN_EXPIRED: API_TOKEN_EXPIRED,
    CLIENT_EXPIRED: API_CLIENT_EXPIRED,
}
"""By `RemoteError.reason`."""
