import pytest

from bridge.job.findings import Findings
from bridge.job.labels import allowed

SITE = ("sidecar.istio.io/inject", "example.com/*", "*/anything", "*")


@pytest.mark.parametrize("key", ["app", "team", "sidecar.istio.io/inject", "example.com/x"])
def test_stays(key: str) -> None:
    findings = Findings()
    assert allowed({key: "v"}, "labels", SITE[:2], findings, are_labels=True) == {key: "v"}
    assert not findings.notices


@pytest.mark.parametrize(
    "key",
    [
        "slurm-k8s-bridge/nodes",
        "slurm-k8s-bridge/x",
        "kubernetes.io/x",
        "pod-security.kubernetes.io/enforce",
        "kueue.x-k8s.io/queue-name",
        "x.k8s.io/y",
        "training.kubeflow.org/job-name",
        "job-name",
        "replica-index",
    ],
)
def test_is_left_out_and_told_whatever_the_site_allows(key: str) -> None:
    findings = Findings()
    patterns = () if key == "kueue.x-k8s.io/queue-name" else SITE
    assert allowed({key: "v"}, "labels", patterns, findings, are_labels=True) == {}
    assert findings.notices == [f"labels[{key}]: left out: the site does not let specs set this key"]


@pytest.mark.parametrize(
    ("key", "value", "is_label", "refused"),
    [
        ("a", "", True, False),
        ("a", "b" * 63, True, False),
        ("a", "b" * 64, True, True),
        ("a", "-b", True, True),
        ("a", "any text, at length", False, False),
        ("a b", "c", False, True),
        ("", "c", True, True),
        ("a" * 64, "c", True, True),
    ],
)
def test_form(key: str, value: str, is_label: bool, refused: bool) -> None:
    findings = Findings()
    kept = allowed({key: value}, "labels", SITE, findings, are_labels=is_label)
    assert (bool(findings.reasons), bool(kept)) == (refused, not refused)
