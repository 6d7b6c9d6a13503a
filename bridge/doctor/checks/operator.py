"""training-operator: its Deployment, whether it runs, and the flags that would keep it from our jobs."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridge.doctor.check import CannotLook, Check, Told
from bridge.doctor.place import Place
from bridge.kube.api import Object
from bridge.messages import doctor_kubernetes as kubernetes_messages

_IMAGE = "training-operator"


@dataclass(frozen=True)
class Operator:
    """``args`` by flag, without its dashes."""

    name: str
    ready: int
    args: dict[str, str]
    schemes: tuple[str, ...]


@dataclass(frozen=True)
class Operators:
    """Those that there are, and the namespaces that one has to serve."""

    found: tuple[Operator, ...]
    namespaces: tuple[str, ...]


def look(place: Place) -> Operators:
    shown = [operator for each in place.kubernetes.deployments() if (operator := operator_of(each)) is not None]
    return Operators(tuple(shown), place.site.namespaces)


def operator_of(deployment: Object) -> Operator | None:
    """None for any other Deployment."""
    pod = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    for container in pod.get("containers") or []:
        if str(container.get("image", "")).split("@")[0].rpartition("/")[2].partition(":")[0] == _IMAGE:
            flags = list(_flags([*(container.get("command") or []), *(container.get("args") or [])]))
            name = f"{deployment['metadata'].get('namespace')}/{deployment['metadata'].get('name')}"
            schemes = tuple(value.lower() for flag, value in flags if flag == "enable-scheme")
            return Operator(name, int((deployment.get("status") or {}).get("readyReplicas") or 0), dict(flags), schemes)
    return None


def _flags(words: list[object]) -> Iterator[tuple[str, str]]:
    texts = [str(word) for word in words]
    for word, after in zip(texts, [*texts[1:], ""], strict=True):
        if word.startswith("-"):
            flag, equals, value = word.lstrip("-").partition("=")
            yield flag, value if equals else "" if after.startswith("-") else after


def judge(facts: Operators) -> Iterator[Told]:
    if not facts.found:
        raise CannotLook(kubernetes_messages.OPERATOR_UNSEEN.told())
    if len(facts.found) > 1:
        yield kubernetes_messages.OPERATORS_MANY.told(names=", ".join(each.name for each in facts.found))
    for each in facts.found:
        if not each.ready:
            yield kubernetes_messages.OPERATOR_DOWN.told(name=each.name)
        if each.schemes and not any("pytorchjob" in scheme for scheme in each.schemes):
            yield kubernetes_messages.OPERATOR_WITHOUT_PYTORCH.told(name=each.name, schemes=", ".join(each.schemes))
        if (gang := each.args.get("gang-scheduler-name", "none")) not in ("", "none"):
            yield kubernetes_messages.OPERATOR_GANG.told(name=each.name, scheduler=gang)
        if (only := each.args.get("namespace", "")) and (left := [n for n in facts.namespaces if n != only]):
            yield kubernetes_messages.OPERATOR_ELSEWHERE.told(name=each.name, only=only, namespaces=", ".join(left))


CHECK = Check(
    "operator",
    "training-operator runs, for PyTorchJobs, in the jobs' namespaces, without a gang scheduler",
    look,
    judge,
)
