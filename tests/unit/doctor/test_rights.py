"""The table of rights, reviewed."""

from pathlib import Path
from typing import Any

from bridge.doctor.checks.rights import CHECK
from bridge.kube.rights import RIGHTS, Right, Scope

from .given import Somewhere, judged, site


class Reviewer:
    """Lets everything but what a test has taken away."""

    def __init__(self, *missing: tuple[str, str]) -> None:
        self._missing = missing
        self.asked: list[tuple[str, str, str]] = []

    def may(self, right: Right, namespace: str) -> bool:
        self.asked.append((right.verb, right.resource, namespace))
        return (right.verb, right.resource) not in self._missing

    def close(self) -> None: ...


def test_every_right_of_the_table_is_asked_where_it_holds(tmp_path: Path) -> None:
    reviewer = Reviewer()
    assert judged(CHECK, CHECK.look(Somewhere(tmp_path, reviewer))) == []
    where = {Scope.JOBS: "slurm-jobs", Scope.OWN: "slurm-k8s-bridge", Scope.CLUSTER: ""}
    assert reviewer.asked == [(right.verb, right.resource, where[right.scope]) for right in RIGHTS]


def test_each_that_is_missing_is_a_finding(tmp_path: Path) -> None:
    for right in RIGHTS:
        place = Somewhere(tmp_path, Reviewer((right.verb, right.resource)))
        assert judged(CHECK, CHECK.look(place)) == ["right-missing"], right


def test_other_namespaces_are_asked_with_the_credential_that_serves_there(tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = [
        {"account": "a", "namespace": "physics"},
        {"account": "b", "namespace": "chemistry", "kubeconfig": "/chemistry"},
    ]
    own, other = Reviewer(), Reviewer(("patch", "pods"))
    place = Somewhere(tmp_path, own, site(jobs=jobs))
    place.kubernetes_by = lambda _: other  # type: ignore[assignment, method-assign, return-value]
    (told,) = list(CHECK.judge(CHECK.look(place)))
    assert told["cause"].startswith("this node may not patch pods in namespace chemistry, which serves")
    assert {namespace for _, _, namespace in own.asked} == {"slurm-jobs", "physics", "slurm-k8s-bridge", ""}
    assert {namespace for _, _, namespace in other.asked} == {"chemistry"}
