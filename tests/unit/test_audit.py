"""The comparison of the table of rights with an API server's audit log."""

import json
from pathlib import Path
from typing import Any

from bridge.kube.rights import RIGHTS
from tests.integration.audit import asked, complaints, who

_NODE = "system:serviceaccount:slurm-k8s-bridge:compute1"


def entry(
    verb: str, resource: str, user: str = _NODE, agent: str = "slurm-k8s-bridge/1.0", **of: str
) -> dict[str, Any]:
    return {
        "verb": verb,
        "user": {"username": user},
        "userAgent": agent,
        "objectRef": {"resource": resource, **of},
        "requestReceivedTimestamp": "2026-11-22T06:00:00.000000Z",
    }


def write(file: Path, *entries: dict[str, Any]) -> None:
    file.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in entries))


def test_what_daemons_ask_is_told_by_verb_resource_and_scope(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    write(
        log,
        entry("get", "pods", namespace="slurm-physics", subresource="log"),
        entry("create", "serviceaccounts", namespace="slurm-k8s-bridge", subresource="token"),
        entry("get", "nodes"),
        entry("list", "secrets", user="system:admin"),
        entry("list", "secrets", agent="Python-urllib/3.11"),
        entry("list", "secrets") | {"user": {}},
    )
    write(tmp_path / "audit-2026-11-22T05.log", entry("watch", "pytorchjobs", apiGroup="kubeflow.org", namespace="a"))
    used = asked(log, "2026-11-22T05:00")
    assert {each[:3] for each in used} == {
        ("get", "", "pods/log"),
        ("create", "", "serviceaccounts/token"),
        ("get", "", "nodes"),
        ("watch", "kubeflow.org", "pytorchjobs"),
    }
    assert not asked(log, "2026-11-22T07:00")
    assert all("nobody asks it" in line for line in complaints(used))
    assert len(complaints(used)) == len(RIGHTS) - len(used)


def test_whom_the_api_server_does_not_know_has_no_name() -> None:
    assert who(entry("list", "secrets") | {"user": {}}) == ""
    assert who(entry("list", "secrets")) == _NODE


def test_what_is_asked_and_not_granted_is_a_complaint() -> None:
    every = {(right.verb, right.group, right.resource, right.scope.value) for right in RIGHTS}
    assert complaints(every) == []
    assert complaints({*every, ("list", "", "secrets", "the cluster")}) == [
        "asked, and not in bridge/kube/rights.py: list  secrets the cluster"
    ]
