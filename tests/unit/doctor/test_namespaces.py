"""The namespaces of jobs."""

from bridge.doctor.checks.namespaces import CHECK

from .given import judged


def test_they_are_there_and_marked() -> None:
    good = {"slurm-k8s-bridge/jobs": "true"}
    assert judged(CHECK, {"slurm-jobs": good}) == []
    assert judged(CHECK, {"slurm-jobs": good, "physics": None}) == ["jobs-namespace-missing"]
    assert judged(CHECK, {"slurm-jobs": {"slurm-k8s-bridge/jobs": "yes"}}) == ["jobs-namespace-unmarked"]
