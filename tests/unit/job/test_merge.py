"""Master and Worker that differ in what says nothing about the training."""

from typing import Any

import pytest
import yaml

from bridge.job.render import Rendered, render
from tests.unit.job.given import placement, reasons, site

ROLES = "spec.pytorchReplicaSpecs"


def job(master: dict[str, Any], worker: dict[str, Any], metadata: tuple[dict[str, Any], dict[str, Any]]) -> str:
    roles = {
        role: {"template": {"metadata": data, "spec": {"containers": [{"name": "pytorch", "image": "x", **container}]}}}
        for role, container, data in (("Master", master, metadata[0]), ("Worker", worker, metadata[1]))
    }
    document = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": roles}}
    return yaml.safe_dump(document)


def merged(
    master: dict[str, Any] | None = None,
    worker: dict[str, Any] | None = None,
    metadata: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
) -> tuple[Rendered, dict[str, Any]]:
    """What is told, and the pod template of the one role."""
    made = render(job(master or {}, worker or {}, metadata).encode(), placement(), site())
    (role,) = made.manifest["spec"]["pytorchReplicaSpecs"].values()
    return made, role["template"]


def test_labels_of_one_role_stay_and_those_that_differ_go() -> None:
    roles = {"app": "x", "role": "master", "of": "master"}, {"app": "x", "role": "worker", "by": "worker"}
    made, template = merged(metadata=({"labels": roles[0]}, {"labels": roles[1], "annotations": {"note": "n"}}))
    labels = template["metadata"]["labels"]
    assert {key: labels.get(key) for key in ("app", "role", "of", "by")} == {
        "app": "x",
        "role": None,
        "of": "master",
        "by": "worker",
    }
    assert template["metadata"]["annotations"]["note"] == "n"
    told = f"{ROLES}.Master.template.metadata.labels[role]: 'master', but 'worker' in Worker: left out"
    assert [notice for notice in made.notices if notice.startswith(told)]


def test_ports_of_both_roles_are_open() -> None:
    ports = [{"containerPort": 23456, "name": "master-port"}]
    assert merged({"ports": ports})[1]["spec"]["containers"][0]["ports"] == ports
    assert merged({"ports": ports}, {"ports": ports})[1]["spec"]["containers"][0]["ports"] == ports


def test_variables_of_the_rendezvous_are_the_bridges_in_every_role() -> None:
    made, template = merged(
        {"env": [{"name": "RANK", "value": "0"}, {"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "1"}]}
    )
    env = {entry["name"]: entry for entry in template["spec"]["containers"][0]["env"]}
    assert "valueFrom" in env["RANK"]
    assert env["A"] == {"name": "A", "value": "1"}
    assert f"{ROLES}.Master: became worker 0, the rank on Slurm's first node" in made.notices


@pytest.mark.parametrize(
    ("master", "worker"),
    [
        ({"limits": {"cpu": 1, "memory": "1Gi"}}, {"limits": {"cpu": "2", "memory": "512Mi"}}),
        ({"limits": {"cpu": 1}}, {}),
        ({}, {"requests": {"memory": "1Gi"}}),
    ],
)
def test_cpus_and_memory_may_differ(master: dict[str, Any], worker: dict[str, Any]) -> None:
    template = merged({"resources": master}, {"resources": worker})[1]
    assert template["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "8"


@pytest.mark.parametrize(("master", "worker"), [("20Gi", "1Gi"), ("1Gi", "20Gi"), ("20Gi", None)])
def test_the_larger_wish_counts(master: str, worker: str | None) -> None:
    asks = [{"resources": {"limits": {"memory": amount}}} if amount else {} for amount in (master, worker)]
    (told,) = reasons(job(asks[0], asks[1], ({}, {})))
    assert "asks for memory 20480Mi, Slurm gave 16384Mi per node" in told


def test_an_amount_that_is_none_is_refused_once() -> None:
    (told,) = reasons(job({"resources": {"limits": {"cpu": "two"}}}, {"resources": {"limits": {"cpu": 1}}}, ({}, {})))
    assert "'two' is no quantity" in told


def test_other_resources_must_be_alike() -> None:
    asks = [{"resources": {"limits": {"vpc.amazonaws.com/efa": count}}} for count in (4, 32)]
    (told,) = reasons(job(asks[0], asks[1], ({}, {})))
    assert told.startswith(
        f"{ROLES}.Master.template.spec.containers[0].resources.limits.vpc.amazonaws.com/efa: 4, but 32"
    )


def test_every_difference_is_told_at_once() -> None:
    told = reasons(job({"args": ["a"], "workingDir": "/a"}, {"args": ["b"], "workingDir": "/b"}, ({}, {})))
    assert [reason.split(": ")[0].rpartition(".")[2] for reason in told] == ["args[0]", "workingDir"]


def test_privileges_of_either_role_are_the_jobs() -> None:
    asked = {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
    for roles in ((asked, {}), ({}, asked), (asked, asked)):
        (told,) = reasons(job(*roles, ({}, {})))
        assert 'containers[0].securityContext.capabilities.add: ["SYS_ADMIN"] is not allowed' in told
    rdma = site(rdma={"rdma/a": 1}, ipc_lock=True)
    whole = {"securityContext": {"privileged": True, "capabilities": {"add": ["IPC_LOCK", "SYS_RESOURCE"]}}}
    made = render(job(whole, {}, ({}, {})).encode(), placement(), rdma)
    (role,) = made.manifest["spec"]["pytorchReplicaSpecs"].values()
    security = role["template"]["spec"]["containers"][0]["securityContext"]
    assert security == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}


def test_values_that_are_secrets_are_not_told() -> None:
    one, other = ({"env": [{"name": "API_TOKEN", "value": value}]} for value in ("open-sesame", "mellon"))
    (told,) = reasons(job(one, other, ({}, {})))
    assert told.startswith(
        f"{ROLES}.Master.template.spec.containers[0].env[0].value: 'a secret', but 'another' in Worker"
    )
    (told,) = reasons(job(one, {}, ({}, {})))
    assert """env: ["API_TOKEN"], but [] in Worker""" in told
    for reason in reasons(job(one, other, ({}, {}))) + reasons(job(one, {}, ({}, {}))):
        assert "sesame" not in reason
        assert "mellon" not in reason
