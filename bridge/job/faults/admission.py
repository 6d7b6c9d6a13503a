"""Rows of what the API server's admission says of a workload or of its pods, and which of them a refusal meets.

A workload is refused in the answer to its creation, its pods in an event of the operator that could not create them:
the words are the same.
"""

import re

from bridge.errors import BridgeError, Conflict, Forbidden, Invalid, NotFound, RemoteError
from bridge.job.faults.row import UNKNOWN, Fault, Finding, Subject, Verdict

_WHAT = "Kubernetes refuses the {what}: {message}"
_SITE = "tell the site's administrator"

QUOTA = Fault(
    "quota",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "wait until other jobs of the namespace have ended, ask for less, or have the site raise the quota",
    "admission plugin ResourceQuota: 403, 'exceeded quota', 'failed quota', 'insufficient quota'",
)
LIMIT_RANGE = Fault(
    "limit-range",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "keep to the limits of the namespace: ask Slurm for less or more CPUs and memory",
    "admission plugin LimitRanger: 403, 'maximum cpu usage per Container is …', 'minimum memory usage …'",
)
POD_SECURITY = Fault(
    "pod-security",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "take the fields that it names out of the spec, or ask the site",
    "admission plugin PodSecurity: 403, 'violates PodSecurity …'",
)
POLICY = Fault(
    "policy",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "change the spec as the policy says, or ask the site",
    "ValidatingAdmissionPolicy: 422, 'ValidatingAdmissionPolicy … denied request'",
)
NODE_IDENTITY = Fault(
    "node-identity",
    Subject.ADMISSION,
    Verdict.SHARED,
    "Kubernetes does not take this node for the one that it says: {message}",
    "an admin enrolls the node anew (`bridgectl node enroll`), or corrects cluster.node_name in bridge.toml",
    "the bridge's own policies (rbac/policies): 403, 'denied request: node-claim: …', the same with workload-rank-0, "
    "gate-rank and event-source",
    None,
)
WEBHOOK_DENIED = Fault(
    "webhook-denied",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "change the spec as the webhook says, or ask the site",
    "admission webhook: 'admission webhook … denied the request'",
)
ADMISSION_DENIED = Fault(
    "admission-denied",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "correct the spec, or ask the site",
    "another admission plugin: 403, '… is forbidden: …', not RBAC",
)
UNKNOWN_FIELD = Fault(
    "unknown-field",
    Subject.ADMISSION,
    Verdict.JOB,
    "this cluster's PyTorchJob does not know a field of the spec: {message}",
    "take the field out of the spec, or have the site install a newer training-operator",
    "API server with fieldValidation=Strict: 400, 'strict decoding error: unknown field …'",
)
OBJECT_INVALID = Fault(
    "object-invalid",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "correct the spec at the field that it names",
    "API server's schema: 422, reason Invalid; 400, reason BadRequest",
)
OBJECT_TOO_LARGE = Fault(
    "object-too-large",
    Subject.ADMISSION,
    Verdict.JOB,
    _WHAT,
    "make the spec smaller: put data into a volume or a ConfigMap",
    "API server: 413; etcd's limit of 1.5 MiB, and from 2 MiB on its client's: 500, 'trying to send message larger …'",
)
WEBHOOK_DOWN = Fault(
    "webhook-down",
    Subject.ADMISSION,
    Verdict.SHARED,
    "a webhook that Kubernetes asks about the {what} does not answer: {message}",
    _SITE,
    "API server: 500, 'failed calling webhook …': time-out, no endpoints, connection refused, expired certificate",
    None,
)
SITE_OBJECT_MISSING = Fault(
    "site-object-missing",
    Subject.ADMISSION,
    Verdict.SHARED,
    "Kubernetes lacks something that the site's settings name: {message}",
    "the site creates it, or corrects [pod] in bridge.toml",
    "admission plugins Priority and ServiceAccount: 403, 'no PriorityClass with name …', 'error looking up service "
    "account'; admission RuntimeClass: 'RuntimeClass … not found'",
    None,
)
NAMESPACE_ENDING = Fault(
    "namespace-ending",
    Subject.ADMISSION,
    Verdict.SHARED,
    "the namespace of the jobs is being deleted: {message}",
    "the site makes it anew (kubectl apply -k rbac)",
    "admission plugin NamespaceLifecycle: 403, 'because it is being terminated'",
    None,
)
NAMESPACE_MISSING = Fault(
    "namespace-missing",
    Subject.ADMISSION,
    Verdict.SHARED,
    "the namespace of the jobs does not exist: {message}",
    "the site makes it (kubectl apply -k rbac) or corrects kubernetes.namespace in bridge.toml",
    "API server: 404, 'namespaces … not found'",
    None,
)
ADMISSION_STARTING = Fault(
    "admission-starting",
    Subject.ADMISSION,
    Verdict.RETRY,
    "the API server does not judge the {what} yet: {message}",
    "it has just been started; if it lasts, " + _SITE,
    "admission plugins after a start: 403, 'not yet ready to handle request'",
    None,
)
OPERATOR_FORBIDDEN = Fault(
    "operator-forbidden",
    Subject.ADMISSION,
    Verdict.SHARED,
    "the training-operator may not make the pods: {message}",
    "the site gives it back the rights of its own roles",
    "the operator's event FailedCreatePod with a 403 of RBAC, 'User … cannot create resource …'",
    None,
)
CRD_MISSING = Fault(
    "crd-missing",
    Subject.ADMISSION,
    Verdict.SHARED,
    "Kubernetes does not serve PyTorchJobs: {message}",
    "the site installs the training-operator and its CRD; after a start of the API server it takes some seconds",
    "API server: 404 in plain text for the path of pytorchjobs",
    None,
)
CRD_TOO_OLD = Fault(
    "crd-too-old",
    Subject.ADMISSION,
    Verdict.SHARED,
    "the PyTorchJob CRD of this cluster drops schedulingGates: {message}",
    "the site installs training-operator 1.7 or newer",
    "the created object lacks the bridge's gate, or 'unknown field … schedulingGates'",
    None,
)

ROWS = (
    QUOTA,
    LIMIT_RANGE,
    POD_SECURITY,
    POLICY,
    NODE_IDENTITY,
    WEBHOOK_DENIED,
    ADMISSION_DENIED,
    UNKNOWN_FIELD,
    OBJECT_INVALID,
    OBJECT_TOO_LARGE,
    WEBHOOK_DOWN,
    SITE_OBJECT_MISSING,
    NAMESPACE_ENDING,
    NAMESPACE_MISSING,
    ADMISSION_STARTING,
    OPERATOR_FORBIDDEN,
    CRD_MISSING,
    CRD_TOO_OLD,
)

# The first that fits. What denies says so in words of its own, which may hold anything: so who speaks stands first.
_BY_WORDS = (
    (re.compile(r"failed calling webhook|failed to call webhook|no endpoints available for service"), WEBHOOK_DOWN),
    (re.compile(r"admission webhook \"[^\"]*\" denied the request"), WEBHOOK_DENIED),
    (
        re.compile(
            r"ValidatingAdmissionPolicy 'slurm-k8s-bridge-[a-z]+'( with binding '[^']*')? denied request: "
            r"(node-claim|workload-rank-0|gate-rank|event-source): "
        ),
        NODE_IDENTITY,
    ),
    (re.compile(r"ValidatingAdmissionPolicy '[^']*'( with binding '[^']*')? denied request"), POLICY),
    (re.compile(r"not yet ready to handle request"), ADMISSION_STARTING),
    (re.compile(r"because it is being terminated"), NAMESPACE_ENDING),
    (re.compile(r"exceeded quota|failed quota|insufficient quota"), QUOTA),
    (
        re.compile(r"(maximum|minimum) \S+ (usage|limit|request)|limit to request ratio|must be specified for: "),
        LIMIT_RANGE,
    ),
    (re.compile(r"violates PodSecurity"), POD_SECURITY),
    (
        re.compile(r"no PriorityClass with name|looking up service account|RuntimeClass \"?[^\"]*\"? not found"),
        SITE_OBJECT_MISSING,
    ),
    (re.compile(r"unknown field \"[^\"]*schedulingGates"), CRD_TOO_OLD),
    (re.compile(r"strict decoding error: "), UNKNOWN_FIELD),
    (
        re.compile(
            r"[Rr]equest entity too large|request is too large|Too long: may not be more than"
            r"|trying to send message larger than max"
        ),
        OBJECT_TOO_LARGE,
    ),
)
# "User X cannot create resource Y": RBAC speaks, the site's fault. Admission words it otherwise.
_RBAC = re.compile(r"\bcannot (create|get|list|watch|patch|update|delete|deletecollection) resource\b")
_FORBIDDEN = re.compile(r"\bis forbidden: ")


def is_rbac(message: str) -> bool:
    """Whether somebody's rights are meant, not the object."""
    return _RBAC.search(message) is not None


def of_creation(error: BridgeError) -> Finding | None:
    """The row of a workload that could not be created; None where the error says nothing about the object."""
    if not isinstance(error, RemoteError) or isinstance(error, Conflict):
        return None
    message = str(error).removeprefix("Kubernetes: ")
    if is_rbac(message):
        return None
    fault = _by_words(message) or _by_status(error)
    return None if fault is None else fault.finding(message, what="workload")


def of_pod_creation(message: str, what: str = "pods") -> Finding:
    """The row of what the operator says when it cannot create pods; or kubectl, of ``what`` it was asked about."""
    if is_rbac(message):
        return OPERATOR_FORBIDDEN.finding(message)
    fault = _by_words(message)
    if fault is None and _FORBIDDEN.search(message):
        fault = ADMISSION_DENIED
    if fault is None and " is invalid: " in message:
        fault = OBJECT_INVALID
    return (fault or UNKNOWN).finding(message, what=what)


def _by_words(message: str) -> Fault | None:
    return next((fault for words, fault in _BY_WORDS if words.search(message)), None)


def _by_status(error: RemoteError) -> Fault | None:
    match error:
        case NotFound():
            return NAMESPACE_MISSING
        case Forbidden():
            return ADMISSION_DENIED if _FORBIDDEN.search(str(error)) else UNKNOWN
        case Invalid(status=413):
            return OBJECT_TOO_LARGE
        case Invalid(status=400 | 422):
            return OBJECT_INVALID
        case Invalid():
            return UNKNOWN
    return CRD_MISSING if error.status == 404 else None
