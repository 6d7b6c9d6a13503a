"""rbac/policies, as it is shipped and as a cluster may have it."""

from copy import deepcopy
from typing import Any

from bridge.doctor.checks.cluster_policies import CHECK, NAMES, facts_of
from tests.unit.kube.test_rights import POLICIES, documents

SHIPPED = documents(*POLICIES)


def _names(objects: list[dict[str, Any]]) -> list[str]:
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    policies, bindings = ([each for each in objects if each["kind"] == kind] for kind in kinds)
    return [told["name"] for told in CHECK.judge(facts_of(policies, bindings))]


def test_what_is_shipped_is_good_and_all_of_it_is_looked_for() -> None:
    assert _names(SHIPPED) == []
    assert sorted(NAMES) == sorted(file.stem for file in POLICIES)


def test_each_that_is_missing_open_or_not_in_force_is_found() -> None:
    assert _names([]) == ["policy-missing"] * len(NAMES)
    for at, item in enumerate(SHIPPED):
        without = [*SHIPPED[:at], *SHIPPED[at + 1 :]]
        is_policy = item["kind"] == "ValidatingAdmissionPolicy"
        assert _names(without) == ["policy-missing" if is_policy else "policy-unbound"]
        changed = deepcopy(item)
        changed["spec"] |= {"failurePolicy": "Ignore"} if is_policy else {"validationActions": ["Audit"]}
        assert _names([*without, changed]) == ["policy-open" if is_policy else "policy-unbound"]
    narrowed = deepcopy(SHIPPED[1])
    narrowed["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    assert _names([SHIPPED[0], narrowed, *SHIPPED[2:]]) == ["policy-unbound"]
