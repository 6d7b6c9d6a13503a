"""training-operator's Deployment and flags."""

from typing import Any

import pytest

from bridge.doctor.checks.operator import CHECK, Operators, operator_of

from .given import UNKNOWN, judged

_IMAGE = "ghcr.io/kubeflow/training-v1/training-operator:v1-04f9f13@sha256:0"


def _deployment(*args: str, ready: int = 1, image: str = _IMAGE) -> dict[str, Any]:
    box = {"name": "it", "image": image, "command": ["/manager"], "args": list(args)}
    metadata = {"name": "training-operator", "namespace": "kubeflow"}
    return {
        "metadata": metadata,
        "spec": {"template": {"spec": {"containers": [box]}}},
        "status": {"readyReplicas": ready},
    }


def _names(*deployments: dict[str, Any]) -> list[str]:
    found = [operator for each in deployments if (operator := operator_of(each)) is not None]
    return judged(CHECK, Operators(tuple(found), ("slurm-jobs",)))


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ((), []),
        (("--enable-scheme=tfjob", "--enable-scheme=pytorchjob", "--gang-scheduler-name=none"), []),
        (("--namespace=slurm-jobs", "--leader-elect"), []),
        (("--enable-scheme=tfjob",), ["operator-without-pytorch"]),
        (("--gang-scheduler-name", "volcano"), ["operator-gang"]),
        (("-gang-scheduler-name=scheduler-plugins",), ["operator-gang"]),
        (("--namespace", "team"), ["operator-elsewhere"]),
    ],
)
def test_flags(args: tuple[str, ...], names: list[str]) -> None:
    assert _names(_deployment(*args)) == names


def test_there_is_one_and_it_runs() -> None:
    assert _names() == _names(_deployment(image="nginx:1")) == [UNKNOWN + "operator-unseen"]
    assert _names(_deployment(ready=0)) == ["operator-down"]
    assert _names(_deployment(), _deployment()) == ["operators-many"]
    assert _names(_deployment(image="registry:5000/mirror/training-operator")) == []
