"""Rows of an image that does not come, told from one another by what the runtime says.

The kubelet alternates ErrImagePull, with the cause, and ImagePullBackOff, before Kubernetes 1.32 without it.
The words are those of containerd 1.7 and 2.x and of CRI-O 1.2x; a registry puts its own among them, so no words
here ever speak against a node.
"""

import re

from bridge.job.faults.row import UNKNOWN, Fault, Subject, Verdict
from bridge.job.pods import PodFacts

_WHERE = "(rank {rank} on {node})"
_PATIENCE = 20.0
_TIMING = "image_patience"

IMAGE_MISSING = Fault(
    "image-missing",
    Subject.CONTAINER,
    Verdict.JOB,
    f"image {{image}} does not exist in its registry {_WHERE}: {{message}}",
    "correct the image's name or tag",
    "kubelet ErrImagePull/ImagePullBackOff; registry answers 404, 'manifest unknown', 'name unknown'",
    _PATIENCE,
    timing=_TIMING,
)
IMAGE_FORBIDDEN = Fault(
    "image-forbidden",
    Subject.CONTAINER,
    Verdict.JOB,
    f"the registry refuses image {{image}} to this job {_WHERE}: {{message}}",
    "correct its name, ask for access, or name a pull secret in the spec (a registry hides what it does not show you)",
    "kubelet ErrImagePull; registry answers 401 or 403, 'denied', 'insufficient_scope'",
    _PATIENCE,
    timing=_TIMING,
)
IMAGE_NO_REGISTRY = Fault(
    "image-no-registry",
    Subject.CONTAINER,
    Verdict.JOB,
    f"the registry of image {{image}} has no address {_WHERE}: {{message}}",
    "correct the registry's name, or copy the image to a registry that the nodes reach",
    "kubelet ErrImagePull; the name server answers NXDOMAIN ('no such host')",
    _PATIENCE,
    timing=_TIMING,
)
IMAGE_PLATFORM = Fault(
    "image-platform",
    Subject.CONTAINER,
    Verdict.JOB,
    f"image {{image}} has no variant for this kind of machine {_WHERE}: {{message}}",
    "build it for the nodes' architecture",
    "kubelet ErrImagePull; containerd 'no match for platform', CRI-O 'no image found in image index'",
    _PATIENCE,
    timing=_TIMING,
)
IMAGE_THROTTLED = Fault(
    "image-throttled",
    Subject.CONTAINER,
    Verdict.SHARED,
    f"the registry of image {{image}} answers that too much is pulled {_WHERE}: {{message}}",
    "pull with an account, or from the site's own registry",
    "kubelet ErrImagePull; registry answers 429, 'toomanyrequests'",
    None,
)
IMAGE_UNREACHABLE = Fault(
    "image-unreachable",
    Subject.CONTAINER,
    Verdict.SHARED,
    f"image {{image}} could not be pulled in time {_WHERE}: {{message}}",
    "the registry is slow or down: the site looks at it",
    "kubelet ErrImagePull, RegistryUnavailable; registry answers 5xx, a time-out, a broken connection",
    None,
)
IMAGE_UNTRUSTED = Fault(
    "image-untrusted",
    Subject.CONTAINER,
    Verdict.SHARED,
    f"the node does not trust the registry of image {{image}} {_WHERE}: {{message}}",
    "have the site add the registry's CA to the nodes' runtime, or use the site's registry",
    "kubelet ErrImagePull; TLS: 'x509: …', 'server gave HTTP response to HTTPS client'",
    None,
)
IMAGE_NO_SPACE = Fault(
    "image-no-space",
    Subject.CONTAINER,
    Verdict.SHARED,
    f"image {{image}} does not fit on the disk of its node {_WHERE}: {{message}}",
    "the site frees space there (crictl rmi --prune); a smaller image helps, too",
    "kubelet ErrImagePull; the runtime says 'no space left on device' while it unpacks",
    None,
)
IMAGE_BROKEN = Fault(
    "image-broken",
    Subject.CONTAINER,
    Verdict.SHARED,
    f"image {{image}} arrived damaged {_WHERE}: {{message}}",
    "push it again; if that does not help, the site looks at the registry and its caches",
    "kubelet ErrImagePull; containerd 'unexpected commit digest', 'failed size validation', 'unexpected EOF'",
    None,
)
IMAGE_BACKOFF = Fault(
    "image-backoff",
    Subject.CONTAINER,
    Verdict.SHARED,
    f"image {{image}} could not be pulled {_WHERE}: {{message}}",
    "the kubelet has told the cause in the pod's events",
    "kubelet ImagePullBackOff without a cause, as before Kubernetes 1.32; the cause told before stands",
    None,
)
IMAGE_PULLING = Fault(
    "image-pulling",
    Subject.CONTAINER,
    Verdict.SHARED,
    "image {image} is still being pulled (rank {rank} on {node})",
    "the layers that have arrived stay on the node, so the next try is quicker",
    "kubelet's event Pulling on the pod, no Pulled after it",
    None,
)
IMAGE_NAME = Fault(
    "image-name",
    Subject.CONTAINER,
    Verdict.JOB,
    "image name {image} is not valid: {message}",
    "write it as REGISTRY/NAME:TAG",
    "kubelet InvalidImageName; CRI-O: a short name without unqualified-search registries",
)
IMAGE_NEVER_PULLED = Fault(
    "image-never-pulled",
    Subject.CONTAINER,
    Verdict.JOB,
    f"image {{image}} is not on its node, and the spec forbids to pull it {_WHERE}: {{message}}",
    "take imagePullPolicy: Never out of the spec",
    "kubelet ErrImageNeverPull",
)
IMAGE_SIGNATURE = Fault(
    "image-signature",
    Subject.CONTAINER,
    Verdict.JOB,
    f"the signature of image {{image}} does not satisfy the site's policy {_WHERE}: {{message}}",
    "use a signed image, or ask the site",
    "kubelet SignatureValidationFailed (CRI, Kubernetes 1.28 and newer)",
    _PATIENCE,
    timing=_TIMING,
)

ROWS = (
    IMAGE_MISSING,
    IMAGE_FORBIDDEN,
    IMAGE_NO_REGISTRY,
    IMAGE_PLATFORM,
    IMAGE_THROTTLED,
    IMAGE_UNREACHABLE,
    IMAGE_UNTRUSTED,
    IMAGE_NO_SPACE,
    IMAGE_BROKEN,
    IMAGE_BACKOFF,
    IMAGE_PULLING,
    IMAGE_NAME,
    IMAGE_NEVER_PULLED,
    IMAGE_SIGNATURE,
)

_BY_REASON = {
    "InvalidImageName": IMAGE_NAME,
    "ErrImageNeverPull": IMAGE_NEVER_PULLED,
    "RegistryUnavailable": IMAGE_UNREACHABLE,
    "SignatureValidationFailed": IMAGE_SIGNATURE,
}
_PULLING = ("ErrImagePull", "ImagePullBackOff")

# The first that fits. A rate limit speaks of "unauthenticated" pulls, a missing platform ends in "not found", an
# outage behind a login in "401" of a proxy: so the special stand before the general.
_BY_WORDS = (
    (re.compile(r"too ?many ?requests|rate ?limit|\b429\b", re.IGNORECASE), IMAGE_THROTTLED),
    (re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE), IMAGE_NO_SPACE),
    (re.compile(r"no match for platform|no image found in (image index|manifest list)", re.IGNORECASE), IMAGE_PLATFORM),
    (
        re.compile(r"invalid reference format|short-name .*did not resolve|unqualified-search", re.IGNORECASE),
        IMAGE_NAME,
    ),
    (re.compile(r"no such host", re.IGNORECASE), IMAGE_NO_REGISTRY),
    (re.compile(r"x509:|HTTP response to HTTPS client|tls: ", re.IGNORECASE), IMAGE_UNTRUSTED),
    (
        re.compile(
            r"unexpected commit digest|failed size validation|digest mismatch|unexpected EOF|invalid tar header",
            re.IGNORECASE,
        ),
        IMAGE_BROKEN,
    ),
    (
        re.compile(
            r"\b50[0-9]\b|bad gateway|gateway time-?out|service unavailable|internal server error|time-?out\b|timed out"
            r"|deadline exceeded|connection (refused|reset)|broken pipe|no route to host|network is unreachable"
            r"|server misbehaving|temporary failure in name resolution|\bEOF\b|request canceled|client connection lost",
            re.IGNORECASE,
        ),
        IMAGE_UNREACHABLE,
    ),
    (
        re.compile(
            r"unauthorized|authori[sz]ation (failed|required)|authentication required|insufficient_scope|denied"
            r"|forbidden|no basic auth credentials|\b40[13]\b",
            re.IGNORECASE,
        ),
        IMAGE_FORBIDDEN,
    ),
    (
        re.compile(
            r"not found|manifest unknown|name unknown|repository .*unknown|does not exist|\b404\b", re.IGNORECASE
        ),
        IMAGE_MISSING,
    ),
)
_CAUSES = (UNKNOWN, *(fault for fault in ROWS if fault not in (IMAGE_BACKOFF, IMAGE_PULLING)))
_NO_CAUSE = re.compile(r"^Back-off pulling image \S+$")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def image_fault(pod: PodFacts) -> Fault | None:
    """The row of a container that waits for its image, None when it does not."""
    if pod.waiting in _BY_REASON:
        return _BY_REASON[pod.waiting]
    if pod.waiting not in _PULLING:
        return None
    message = " ".join(pod.waiting_message.split())
    if not message or _NO_CAUSE.match(message):
        return IMAGE_BACKOFF
    return _by_words(_without_names(message, pod.image))


def says_less(fault: Fault, known: Fault) -> bool:
    """Whether this row is only the pause after the one that is known: it says nothing new, least of all that the
    earlier cause is over."""
    return fault is IMAGE_BACKOFF and known in _CAUSES


def _by_words(message: str) -> Fault:
    return next((fault for words, fault in _BY_WORDS if words.search(message)), UNKNOWN)


def _without_names(message: str, image: str) -> str:
    """What is said of the image, without its name: a tag may be 404, a repository forbidden."""
    for name in (image, image.partition("@")[0], image.rpartition(":")[0]):
        message = message.replace(name, "") if len(name) > 3 else message
    return _QUOTED.sub("", message)
