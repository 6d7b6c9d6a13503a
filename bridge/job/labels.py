"""Which labels and annotations of a spec stay: those without a prefix, and those that the site allows.

A key with a prefix is an order to some controller or webhook (queues, injectors, networks); unknown ones stay out.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from bridge.job.findings import Findings, shown
from bridge.wellknown import ANNOTATION_PROFILE, PREFIX

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_RESERVED = (PREFIX.rstrip("/"), "kubernetes.io", "k8s.io", "kubeflow.org")
_OURS = "replica-type, replica-index, job-name, job-role"
_OPERATORS = frozenset(_OURS.split(", "))


def allowed(
    given: Mapping[str, str], path: str, patterns: tuple[str, ...], findings: Findings, *, are_labels: bool
) -> dict[str, str]:
    """The pairs that stay; of the others those left out are named, and those not well-formed refused.

    `patterns` are the site's, for keys with a prefix; Kubernetes', the operator's and the bridge's own
    prefixes are never among them.
    """
    kept = {}
    for key, value in given.items():
        if key == ANNOTATION_PROFILE:
            continue  # it has been read, and is not for Kubernetes
        where = f"{path}[{key}]"
        if not _may_stay(key, patterns):
            findings.notice(where, "left out: the site does not let specs set this key")
        elif not _NAME.fullmatch(key.rpartition("/")[2]):
            findings.refuse(where, f"{shown(key)} is no key", "use up to 63 letters, digits, `-`, `_` and `.`")
        elif are_labels and value and not _NAME.fullmatch(value):
            cure = "use up to 63 letters, digits, `-`, `_` and `.`, or make it an annotation"
            findings.refuse(where, f"{shown(value)} is no value of a label", cure)
        else:
            kept[key] = value
    return kept


def _may_stay(key: str, patterns: tuple[str, ...]) -> bool:
    prefix, slash, _ = key.rpartition("/")
    if not slash:
        return key not in _OPERATORS
    if any(prefix == reserved or prefix.endswith(f".{reserved}") for reserved in _RESERVED):
        return False
    return any(fnmatchcase(key, pattern) for pattern in patterns)
