"""PyTorchJob, and Kubernetes' version."""

import pytest

from bridge.doctor.checks.workloads import _NEEDED, CHECK, Workloads

from .given import UNKNOWN, judged

_FIELDS = frozenset({*_NEEDED, "elasticPolicy"})


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        (Workloads("v1.36.1", True, _FIELDS), []),
        (Workloads("v1.29.4-gke.1", True, _FIELDS), ["kubernetes-without-policies"]),
        (Workloads("v1.26.15", True, _FIELDS), ["kubernetes-old"]),
        (Workloads("v1.36.1", False), ["crd-missing-here"]),
        (Workloads("v1.36.1", True, _FIELDS - {"nprocPerNode"}), ["operator-old"]),
        (Workloads("v1.36.1", True), [UNKNOWN + "crd-unread"]),
        (Workloads("", True, _FIELDS), [UNKNOWN + "version-unlike"]),
    ],
)
def test_what_is_served(facts: Workloads, names: list[str]) -> None:
    assert judged(CHECK, facts) == names
