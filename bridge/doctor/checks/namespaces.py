"""The namespaces of jobs: there, and marked as such, or the policies refuse their pods."""

from collections.abc import Iterator

from bridge.doctor.check import Check, Told
from bridge.doctor.place import Place
from bridge.messages import doctor_kubernetes as kubernetes_messages

_MARK = "slurm-k8s-bridge/jobs"


def look(place: Place) -> dict[str, dict[str, str] | None]:
    """The labels of each; None where there is no such namespace."""
    found = {name: place.kubernetes.namespace(name) for name in place.site.namespaces}
    return {name: None if each is None else each["metadata"].get("labels") or {} for name, each in found.items()}


def judge(facts: dict[str, dict[str, str] | None]) -> Iterator[Told]:
    for name, labels in facts.items():
        if labels is None:
            yield kubernetes_messages.NAMESPACE_MISSING.told(namespace=name)
        elif labels.get(_MARK) != "true":
            yield kubernetes_messages.NAMESPACE_UNMARKED.told(namespace=name, mark=_MARK)


CHECK = Check("namespaces", "the namespaces of bridge.toml: there, and marked as those of jobs", look, judge)
