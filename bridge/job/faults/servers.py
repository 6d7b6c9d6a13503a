"""Rows of the two servers, API server and slurmrestd, and which of them an error of theirs meets.

While a training runs and while a node is released, a server that does not answer is asked again: unknown is not gone.
"""

import re

from bridge.errors import (
    CERTIFICATE_REFUSED,
    EMPTY_ANSWER,
    FOREIGN_JOB,
    BridgeError,
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RemoteError,
    Unauthenticated,
    Unavailable,
    Unsupported,
)
from bridge.job.faults import admission, trust
from bridge.job.faults.row import ALWAYS, UNKNOWN, Fault, Finding, Subject, Verdict

# -- the API server

API_UNREACHABLE = Fault(
    "api-unreachable",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server does not answer ({message})",
    "the site looks at it and at the network; the bridge goes on asking",
    "no connection, or no answer in time",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_OUTAGE = Fault(
    "api-outage",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server has not answered for {message}, so no workload is started until it does",
    "tell the site's administrator",
    "the breaker: no answer for timing.breaker_after before the prolog began, and none for breaker_patience since",
    timing="breaker_patience",
)
API_FAULT = Fault(
    "api-fault",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server has a fault of its own ({message})",
    "the site looks at it and at etcd; the bridge goes on asking",
    "API server: 5xx, a redirection, or an answer that Kubernetes would not give",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_THROTTLED = Fault(
    "api-throttled",
    Subject.API_SERVER,
    Verdict.SHARED,
    "the API server has too much to do ({message})",
    "the bridge asks again when Retry-After allows; the site gives it a FlowSchema of its own",
    "API server: 429 with Retry-After (priority and fairness, eviction budgets)",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_EXPIRED = Fault(
    "api-expired",
    Subject.API_SERVER,
    Verdict.RETRY,
    "the API server has forgotten where a watch or list stood ({message})",
    "the bridge lists anew; nothing to do",
    "API server: 410 Gone, 'too old resource version'",
    None,
    ALWAYS,
)
API_FORBIDDEN = Fault(
    "api-forbidden",
    Subject.API_SERVER,
    Verdict.SHARED,
    "Kubernetes does not let this node's daemon do its work ({message})",
    "the site applies rbac/ of this version (kubectl apply -k rbac)",
    "API server: 403 of RBAC, 'User … cannot … resource …'",
    None,
    ALWAYS,
    Verdict.RETRY,
)
API_CONFLICT = Fault(
    "api-conflict",
    Subject.API_SERVER,
    Verdict.RETRY,
    "an object changed while the bridge worked on it ({message})",
    "the bridge looks again; nothing to do",
    "API server: 409; 422 'the server rejected our request …' for a JSON patch whose test does not hold",
    None,
    ALWAYS,
)

# -- slurmrestd

SLURM_UNREACHABLE = Fault(
    "slurmrestd-unreachable",
    Subject.SLURMRESTD,
    Verdict.RETRY,
    "slurmrestd does not answer ({message})",
    "the site looks at slurmrestd.service, at slurmrest.url and at the network",
    "no connection, no answer in time, or an answer of a proxy",
    None,
    ALWAYS,
)
SLURM_CERTIFICATE = Fault(
    "slurmrestd-certificate",
    Subject.SLURMRESTD,
    Verdict.RETRY,
    "this node does not accept slurmrestd's certificate ({message})",
    "the site renews the certificate, or the file of slurmrest.ca_file, which the bridge reads again by itself; check "
    "the node's clock",
    "TLS: certificate expired, unknown authority, wrong host name",
    None,
    ALWAYS,
)
SLURMCTLD_SILENT = Fault(
    "slurmctld-silent",
    Subject.SLURMRESTD,
    Verdict.RETRY,
    "slurmrestd gets no answer from slurmctld ({message})",
    "the site looks at slurmctld; it may be restarting, or limit the rate of requests",
    "slurmrestd: 502, 504, error 1800, error -1 (24.11), 2020 while the job changes",
    None,
    ALWAYS,
)
SLURM_EMPTY = Fault(
    "slurmrestd-empty",
    Subject.SLURMRESTD,
    Verdict.RETRY,
    "slurmrestd's answer says nothing about the job ({message})",
    "unknown is not gone: the bridge goes on asking; if it lasts, the site looks at slurmrestd",
    "slurmrestd: 200 without a list of jobs, with an empty one, or with two of this number",
    None,
    ALWAYS,
)
SLURM_TOKEN = Fault(
    "slurm-token",
    Subject.SLURMRESTD,
    Verdict.NONE,
    "Slurm does not accept the token that the bridge has for this job ({message})",
    "its comment says nothing then; the site checks AuthAltTypes=auth/jwt, jwt_key, the clocks, and "
    "slurmrest.service_token_file where there is one",
    "slurmrestd: 401, or error 1007 with 500 (up to 24.05) or 511 (24.11): expired, revoked, of another cluster",
    phases=ALWAYS,
)
SLURM_DENIED = Fault(
    "slurm-denied",
    Subject.SLURMRESTD,
    Verdict.NONE,
    "Slurm does not let the user of the bridge's token do this ({message})",
    "the site looks at what keeps owners from their own jobs, or at the rights of slurmrest.service_user",
    "slurmrestd: errors 1, 2002, 2010",
    phases=ALWAYS,
)
SLURM_REFUSED = Fault(
    "slurm-refused",
    Subject.SLURMRESTD,
    Verdict.NONE,
    "Slurm does not do what was asked ({message})",
    "where the job has ended already, nothing is to be done",
    "slurmrestd: errors 2000 to 2999 and 9000 to 9099, also in a 200 with errors",
    phases=ALWAYS,
)
SLURM_VERSION = Fault(
    "slurmrestd-version",
    Subject.SLURMRESTD,
    Verdict.NONE,
    "slurmrestd speaks another language than the bridge ({message})",
    "use Slurm 23.11 to 26.05, or a bridge that knows this one",
    "slurmrestd: 404 for every version of the API that the bridge knows, or a job of an unknown shape",
    phases=ALWAYS,
)
SLURM_FOREIGN_JOB = Fault(
    "slurm-foreign-job",
    Subject.SLURMRESTD,
    Verdict.NONE,
    "slurmrestd shows another user's job under this number ({message})",
    "nothing is written to it; the site checks that slurmrest.url belongs to this cluster",
    "slurmrestd: user_id of the job differs from slurmd's SLURM_JOB_UID",
    phases=ALWAYS,
)
SLURM_NO_TOKEN = Fault(
    "slurm-no-token",
    Subject.SLURMRESTD,
    Verdict.RETRY,
    "no token of the job's owner at hand",
    "it lives in memory only: the next hook of the job, or bridgectl attach, brings one",
    "the daemon was restarted since the hook brought the token",
    None,
    ALWAYS,
)
SLURM_SERVICE_TOKEN = Fault(
    "slurm-service-token",
    Subject.SLURMRESTD,
    Verdict.NONE,
    "the site's own Slurm token cannot be used ({message})",
    "the site renews slurmrest.service_token_file",
    "the file that bridge.toml names: missing, readable by others, or without a token",
    phases=ALWAYS,
)
JOB_UNKNOWN = Fault(
    "job-unknown",
    Subject.SLURMRESTD,
    Verdict.GONE,
    "slurmctld does not know the job any more",
    "",
    "slurmrestd: error 2017, which is a clear word; an empty list is none",
    advice="nothing is left to do; submit it again",
)

ROWS = (
    API_UNREACHABLE,
    API_OUTAGE,
    *trust.ROWS,
    API_FAULT,
    API_THROTTLED,
    API_EXPIRED,
    API_FORBIDDEN,
    API_CONFLICT,
    SLURM_UNREACHABLE,
    SLURM_CERTIFICATE,
    SLURMCTLD_SILENT,
    SLURM_EMPTY,
    SLURM_TOKEN,
    SLURM_DENIED,
    SLURM_REFUSED,
    SLURM_VERSION,
    SLURM_FOREIGN_JOB,
    SLURM_NO_TOKEN,
    SLURM_SERVICE_TOKEN,
    JOB_UNKNOWN,
)

_PATCH_TEST = re.compile(r"the server rejected our request due to an error in our request")
_SLURMCTLD = frozenset({"-1", "1800", "2020"})
_SLURM = (
    (Unauthenticated, SLURM_TOKEN),
    (Forbidden, SLURM_DENIED),
    (NotFound, JOB_UNKNOWN),
    (Unsupported, SLURM_VERSION),
    (Invalid, SLURM_REFUSED),
    (ConfigError, SLURM_SERVICE_TOKEN),
)


def of_kubernetes(error: BridgeError) -> Finding:
    """The row of an error of the API server, whatever was asked."""
    fault = _kubernetes(error)
    return fault.finding(str(error).removeprefix("Kubernetes: "), what="request")


def _kubernetes(error: BridgeError) -> Fault:
    message = str(error)
    if isinstance(error, Unavailable):
        return _unavailable(error)
    if isinstance(error, ConfigError):
        return trust.API_KUBECONFIG
    if isinstance(error, Unauthenticated):
        return trust.BY_REASON.get(error.reason, trust.API_CREDENTIAL)
    if admission.is_rbac(message):
        return API_FORBIDDEN
    if isinstance(error, Invalid) and _PATCH_TEST.search(message):
        return API_CONFLICT
    if isinstance(error, NotFound | Forbidden | Invalid):
        found = admission.of_creation(error)
        return UNKNOWN if found is None else found.fault
    return API_CONFLICT if isinstance(error, Conflict) else UNKNOWN


def _unavailable(error: Unavailable) -> Fault:
    by_status = {404: admission.CRD_MISSING, 408: API_UNREACHABLE, 410: API_EXPIRED, 429: API_THROTTLED}
    if error.status == 0:
        return trust.BY_REASON.get(error.reason, API_UNREACHABLE)
    if error.status in by_status:
        return by_status[error.status]
    found = admission.of_creation(error)
    return API_FAULT if found is None else found.fault


def of_slurm(error: BridgeError) -> Finding:
    """The row of an error of slurmrestd."""
    return _slurm(error).finding(str(error).removeprefix("Slurm: "))


def _slurm(error: BridgeError) -> Fault:
    if isinstance(error, Unavailable):
        if error.reason == EMPTY_ANSWER:
            return SLURM_EMPTY
        if error.reason == CERTIFICATE_REFUSED:
            return SLURM_CERTIFICATE
        from_slurmctld = error.reason in _SLURMCTLD or error.status in (502, 504)
        return SLURMCTLD_SILENT if from_slurmctld else SLURM_UNREACHABLE
    if isinstance(error, RemoteError) and error.reason == FOREIGN_JOB:
        return SLURM_FOREIGN_JOB
    return next((fault for kind, fault in _SLURM if isinstance(error, kind)), UNKNOWN)
