"""What doctor asks the API server, and what it makes of answers that are none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import Unavailable
from bridge.kube.inquiry import Inquiry
from bridge.kube.rights import RIGHTS
from bridge.kube.transport import Transport
from tests.fakes.httpserver import Received, Reply, ScriptedServer
from tests.unit.kube.conftest import kubeconfig

_DENIED = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": "by policy", "code": 403}


@pytest.fixture
def inquiry(server: ScriptedServer, tmp_path: Path) -> Iterator[Inquiry]:
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig(server.url, token="t"))
    asked = Inquiry(Transport(file, 2.0))
    yield asked
    asked.close()


def _answers(server: ScriptedServer, **by_path: Any) -> None:
    def route(request: Received) -> Reply:
        return Reply(by_path[request.path.rpartition("/")[2]])

    server.route = route


def test_a_review_says_yes_or_no_or_nothing(server: ScriptedServer, inquiry: Inquiry) -> None:
    right = next(right for right in RIGHTS if right.resource == "pods/log")
    server.route = lambda _: Reply({"status": {"allowed": True}}, 201)
    assert inquiry.may(right, "slurm-jobs")
    asked = server.received[0].json()["spec"]["resourceAttributes"]
    assert asked == {"verb": "get", "group": "", "resource": "pods", "subresource": "log", "namespace": "slurm-jobs"}
    server.route = lambda _: Reply({"status": {"allowed": False}}, 201)
    assert not inquiry.may(right, "")
    assert "namespace" not in server.received[1].json()["spec"]["resourceAttributes"]
    for status in ({}, {"allowed": "yes"}, None):
        server.route = lambda _, status=status: Reply({"status": status}, 201)
        with pytest.raises(Unavailable):
            inquiry.may(right, "")


def test_only_a_list_of_groups_proves_that_ours_is_missing(server: ScriptedServer, inquiry: Inquiry) -> None:
    _answers(server, apis={"groups": [{"name": "kubeflow.org"}]}, v1={"resources": [{"name": "pytorchjobs"}]})
    assert inquiry.serves_workloads()
    _answers(server, apis={"groups": [{"name": "kubeflow.org"}]}, v1={"resources": [{"name": "tfjobs"}]})
    assert not inquiry.serves_workloads()
    _answers(server, apis={"groups": [{"name": "apps"}]})
    assert not inquiry.serves_workloads()
    _answers(server, apis={})
    with pytest.raises(Unavailable):
        inquiry.serves_workloads()


def test_the_fields_of_a_workload(server: ScriptedServer, inquiry: Inquiry) -> None:
    policy: dict[str, Any] = {"properties": {"suspend": {}, "cleanPodPolicy": {}}}
    spec = {"properties": {"runPolicy": policy, "nprocPerNode": {}}}
    schemas = {"org.kubeflow.v1.PyTorchJob": {"properties": {"spec": spec}}, "org.kubeflow.v1.TFJob": {}}
    _answers(server, v1={"components": {"schemas": schemas}})
    assert inquiry.workload_fields() == {"runPolicy", "runPolicy.suspend", "runPolicy.cleanPodPolicy", "nprocPerNode"}
    _answers(server, v1={})
    assert inquiry.workload_fields() == set()


def test_what_is_tried_is_tried_dry(server: ScriptedServer, inquiry: Inquiry) -> None:
    server.route = lambda _: Reply(_DENIED, 403)
    assert "by policy" in inquiry.refusal_of_workload("slurm-jobs", {"kind": "PyTorchJob"})
    assert "by policy" in inquiry.refusal_of_event("slurm-jobs", {"kind": "Event"})
    server.route = lambda _: Reply({"metadata": {"name": "n"}}, 201)
    assert inquiry.refusal_of_event("slurm-jobs", {"kind": "Event"}) == ""
    assert [(each.method, each.query) for each in server.received] == [("POST", {"dryRun": "All"})] * 3
