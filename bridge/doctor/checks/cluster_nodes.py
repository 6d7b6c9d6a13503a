"""Every node of Slurm's: its taint, and what its DaemonSets leave for the largest pod of bridge.toml."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bridge import wellknown
from bridge.doctor.check import CannotLook, Check, Told
from bridge.doctor.checks.resources import Amounts, allocatable, largest_pods
from bridge.doctor.place import Place
from bridge.job.quantity import parse
from bridge.kube.api import Object
from bridge.messages import doctor as messages
from bridge.messages import doctor_kubernetes as kubernetes_messages

_EVERYWHERE = ("DaemonSet", "Node")  # owners of pods that are on a node whatever Slurm does: static ones, too


@dataclass(frozen=True)
class NodeRoom:
    """``taken`` is what the pods of DaemonSets ask for there."""

    name: str
    free: Amounts
    taken: Amounts


@dataclass(frozen=True)
class Rooms:
    """The tainted nodes, and the largest pod of each section of bridge.toml."""

    nodes: tuple[NodeRoom, ...]
    most: dict[str, Amounts]


def look(place: Place) -> Rooms:
    pods = place.kubernetes.pods()
    ours = [node for node in place.kubernetes.nodes() if _is_tainted(node)]
    rooms = (NodeRoom(name := _name(node), allocatable(node, place.site), taken(pods, name)) for node in ours)
    return Rooms(tuple(rooms), largest_pods(place.site))


def _name(node: Object) -> str:
    return str(node["metadata"]["name"])


def _is_tainted(node: Object) -> bool:
    return any(taint.get("key") == wellknown.TAINT for taint in (node.get("spec") or {}).get("taints") or [])


def taken(pods: list[Object], node: str) -> Amounts:
    """By the pods that a node always has. Raises CannotLook for what is no quantity."""
    there = [pod for pod in pods if (pod.get("spec") or {}).get("nodeName") == node and _is_always_there(pod)]
    asked = [
        ((box.get("resources") or {}).get("requests") or {})
        for pod in there
        for box in pod["spec"].get("containers") or []
    ]
    try:
        cpus = sum((parse(each.get("cpu", 0)) for each in asked), Fraction(0))
        memory = sum((parse(each.get("memory", 0)) for each in asked), Fraction(0))
    except ValueError as error:
        raise CannotLook(messages.ALLOCATABLE_UNREAD.told(why=error)) from error
    return Amounts(cpus, -int(-memory // 2**20))


def _is_always_there(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not over and any(owner.get("kind") in _EVERYWHERE for owner in owners)


def judge(facts: Rooms) -> Iterator[Told]:
    if not facts.nodes:
        yield kubernetes_messages.NODES_UNTAINTED.told(taint=wellknown.TAINT)
    for node in facts.nodes:
        cpus, memory = node.free.cpus - node.taken.cpus, node.free.memory - node.taken.memory
        for section, most in facts.most.items():
            if most.cpus > cpus or most.memory > memory:
                shown = f"{float(cpus):g} CPUs and {memory} MiB"
                wanted = f"{float(most.cpus):g} and {most.memory}"
                yield kubernetes_messages.DAEMONSETS_IN_THE_WAY.told(
                    node=node.name, shown=shown, section=section, wanted=wanted
                )


CHECK = Check("nodes", "Slurm's nodes: tainted, and roomy enough beside their DaemonSets", look, judge)
