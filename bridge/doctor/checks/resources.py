"""What Slurm gives of this node, and what Kubernetes can: GPUs, CPUs, memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bridge.config import Config
from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.job.quantity import mebibytes, parse
from bridge.kube.api import Object
from bridge.messages import doctor as messages
from bridge.slurm.shown import SlurmNode


@dataclass(frozen=True)
class Amounts:
    """What pods can have of a Node, or ask of it; ``memory`` in MiB."""

    cpus: Fraction
    memory: int
    gpus: int = 0


@dataclass(frozen=True)
class Resources:
    """``most`` is by section of bridge.toml the largest pod; ``slurm`` is None where slurmctld does not say."""

    allocatable: Amounts
    gpu: str
    most: dict[str, Amounts]
    slurm: SlurmNode | None
    unasked: str = ""


def allocatable(node: Object, site: Config) -> Amounts:
    """Of a Node. Raises CannotLook for what is no quantity."""
    given = (node.get("status") or {}).get("allocatable") or {}
    try:
        gpus = sum(int(parse(given.get(name, 0))) for name in site.gpu.resources)
        return Amounts(parse(given["cpu"]), int(parse(given["memory"]) // 2**20), gpus)
    except (KeyError, ValueError) as error:
        raise CannotLook(messages.ALLOCATABLE_UNREAD.told(why=error)) from error


def largest_pods(site: Config) -> dict[str, Amounts]:
    """What a pod may ask for at most, by section."""
    named = {"pod": site.pod, **{f"profiles.{name}": pod for name, pod in site.profiles.items()}}
    return {name: Amounts(Fraction(pod.max_cpus), mebibytes(parse(pod.max_memory))) for name, pod in named.items()}


def look(place: Place) -> Resources:
    slurm, unasked = None, ""
    try:
        slurm = place.slurm_node
    except BridgeError as error:
        unasked = clause(error)
    gpu = " and ".join(place.site.gpu.resources)
    free = allocatable(place.kubernetes.node(place.kubernetes_node), place.site)
    return Resources(free, gpu, largest_pods(place.site), slurm, unasked)


def judge(facts: Resources) -> Iterator[Told]:
    free = facts.allocatable
    for section, most in facts.most.items():
        if most.cpus > free.cpus:
            yield messages.CPUS_TOO_MANY.told(section=section, most=float(most.cpus), free=float(free.cpus))
        if most.memory > free.memory:
            yield messages.MEMORY_TOO_MUCH.told(section=section, most=most.memory, free=free.memory)
    if facts.slurm is None:
        raise CannotLook(messages.SLURM_UNASKED.told(why=facts.unasked))
    if facts.slurm.gpus != free.gpus:
        yield messages.GPUS_DIFFER.told(slurm=facts.slurm.gpus, kubernetes=free.gpus, resource=facts.gpu)
    # What Slurm gives beyond the bounds of bridge.toml no job can use.
    cpus, memory = max(most.cpus for most in facts.most.values()), max(most.memory for most in facts.most.values())
    if cpus * 2 < facts.slurm.cpus or memory * 2 < facts.slurm.memory:
        bounds, given = f"{float(cpus):g} CPUs and {memory} MiB", f"{facts.slurm.cpus} and {facts.slurm.memory}"
        yield messages.BOUNDS_LOW.told(bounds=bounds, given=given)


CHECK = Check(
    "resources", "GPUs, CPUs and memory: Slurm's node, the Node's allocatable, bridge.toml's bounds", look, judge
)
