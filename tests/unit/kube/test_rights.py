"""One table says what a daemon may do; `rbac/` grants exactly that, and its policies are in force."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge import wellknown
from bridge.kube.rights import RIGHTS, Scope

RBAC = Path(__file__).parents[3] / "rbac"
POLICIES = sorted(file for file in (RBAC / "policies").glob("*.yaml") if file.name != "kustomization.yaml")


def documents(*files: Path) -> list[dict[str, Any]]:
    return [document for file in files for document in yaml.safe_load_all(file.read_text())]


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    found = documents(*(RBAC / "base").glob("*.yaml"), *(RBAC / "jobs").glob("*.yaml"))
    return [document for document in found if document["kind"] in kinds]


def scope(role: dict[str, Any]) -> Scope:
    namespace = role["metadata"].get("namespace")
    return {None: Scope.CLUSTER, wellknown.ACCOUNTS: Scope.OWN, "slurm-jobs": Scope.JOBS}[namespace]


def test_the_table_and_rbac_are_the_same_both_ways() -> None:
    granted = {
        (verb, group, resource, scope(role))
        for role in of_kind("Role", "ClusterRole")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == {(right.verb, right.group, right.resource, right.scope) for right in RIGHTS}
    assert len(RIGHTS) == len(granted)
    assert all(right.why for right in RIGHTS)


def test_each_role_is_bound_once_to_whom_enrolment_writes_there() -> None:
    roles = [(role["kind"], role["metadata"]["name"], scope(role)) for role in of_kind("Role", "ClusterRole")]
    bindings = of_kind("RoleBinding", "ClusterRoleBinding")
    bound = [(each["roleRef"]["kind"], each["roleRef"]["name"], scope(each)) for each in bindings]
    assert sorted(map(str, roles)) == sorted(map(str, bound))
    for binding in bindings:
        whose = "all" if scope(binding) is Scope.OWN else "nodes"
        assert binding["metadata"]["labels"] == {wellknown.LABEL_BINDS: whose}
        assert "subjects" not in binding, "applied again it would take every node's rights away"


def test_every_policy_is_shipped_in_force_and_fails_closed() -> None:
    assert yaml.safe_load((RBAC / "policies" / "kustomization.yaml").read_text())["resources"] == [
        file.name for file in POLICIES
    ]
    for file in POLICIES:
        policy, binding = documents(file)
        name = f"slurm-k8s-bridge-{file.stem}"
        assert policy["metadata"]["name"] == binding["metadata"]["name"] == binding["spec"]["policyName"] == name
        assert policy["spec"]["failurePolicy"] == "Fail"
        assert binding["spec"] == {"policyName": name, "validationActions": ["Deny"]}
        rules = [each["message"].split(":")[0] for each in policy["spec"]["validations"]]
        assert len(set(rules)) == len(rules), "a refusal says by which rule"


def test_every_write_of_the_table_has_a_policy() -> None:
    """A right that no policy narrows would hold for everybody's objects."""
    operations = {"create": "CREATE", "patch": "UPDATE", "delete": "DELETE"}
    narrowed = {
        (operation, resource)
        for file in POLICIES
        if file.stem not in ("taint", "guard", "binding", "account")  # which are about others
        for rule in documents(file)[0]["spec"]["matchConstraints"]["resourceRules"]
        for operation in rule["operations"]
        for resource in rule["resources"]
    }
    assert narrowed == {(operations[r.verb], r.resource) for r in RIGHTS if r.verb in operations}


@pytest.mark.parametrize("level", ["restricted", "privileged"])
def test_one_more_namespace_is_like_the_first(level: str) -> None:
    printed = subprocess.run([RBAC / "namespace", "physics", level], check=True, capture_output=True, text=True).stdout
    text = "---\n".join((RBAC / "jobs" / name).read_text() for name in ("namespace.yaml", "role.yaml"))
    wanted = text.replace("slurm-jobs", "physics").replace("enforce: restricted", f"enforce: {level}")
    assert list(yaml.safe_load_all(printed)) == list(yaml.safe_load_all(wanted))
