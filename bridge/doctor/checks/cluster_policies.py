"""All of rbac/policies, as an admin sees them: there, in force, and closed when they cannot judge."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import Check, Told
from bridge.doctor.place import Place
from bridge.kube.api import Object
from bridge.messages import doctor_kubernetes as kubernetes_messages

NAMES = ("account", "binding", "delete", "event", "gate", "guard", "taint", "token", "workload")
_PREFIX = "slurm-k8s-bridge-"


@dataclass(frozen=True)
class Policies:
    """By name: the failurePolicy of each policy, and the actions and restrictions of the bindings of each."""

    failure: dict[str, str]
    bound: dict[str, tuple[str, ...]]


def look(place: Place) -> Policies:
    return facts_of(place.kubernetes.policies(), place.kubernetes.policy_bindings())


def facts_of(policies: list[Object], bindings: list[Object]) -> Policies:
    """A binding that is narrowed to some objects puts its policy in force for these alone, so it does not count."""
    failure = {
        str(each["metadata"]["name"]): str((each.get("spec") or {}).get("failurePolicy", "Fail")) for each in policies
    }
    bound: dict[str, tuple[str, ...]] = {}
    for spec in (each.get("spec") or {} for each in bindings):
        if not spec.get("matchResources"):
            name = str(spec.get("policyName"))
            bound[name] = (*bound.get(name, ()), *map(str, spec.get("validationActions") or ()))
    return Policies(failure, bound)


def judge(facts: Policies) -> Iterator[Told]:
    for name in (f"{_PREFIX}{short}" for short in NAMES):
        if name not in facts.failure:
            yield kubernetes_messages.POLICY_MISSING.told(policy=name)
        elif "Deny" not in facts.bound.get(name, ()):
            yield kubernetes_messages.POLICY_UNBOUND.told(policy=name)
        elif facts.failure[name] != "Fail":
            yield kubernetes_messages.POLICY_OPEN.told(policy=name)


CHECK = Check("policies", "each policy of rbac/policies: there, bound with Deny, failing closed", look, judge)
