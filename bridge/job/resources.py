"""What each container of a pod gets: requests equal limits everywhere, so the pod is Guaranteed.

The job's share of the smallest node, capped at what the site says a pod can have, is the pod's. Containers
that run beside the training take theirs out of it: what they declare, else a tenth of a CPU and 128 MiB
each, enough for a proxy or a log shipper. The training gets the rest, in whole CPUs, since only those can be pinned.
Init containers run before it and get the same at no cost.
"""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from bridge.config import Config
from bridge.job import quantity
from bridge.job.findings import Findings, at, shown
from bridge.job.placement import Placement
from bridge.job.spec import JobSpec, Part

SIDECAR_CPUS = Fraction(1, 10)
SIDECAR_MEMORY_MIB = 128
_RDMA = ("*rdma*", "*/efa", "*/hca*")  # how RDMA resources are named elsewhere


@dataclass(frozen=True)
class Ask:
    """What one container declares, None where it says nothing, with the paths to say so.

    `cpus` and `memory_mib` are the larger of request and limit. `extra` are other resources, as written.
    """

    path: str
    cpus: Fraction | None
    memory_mib: int | None
    gpus: Fraction | None
    extra: dict[str, str]
    paths: dict[str, str]


@dataclass(frozen=True)
class Share:
    """Resources of one container."""

    cpus: Fraction
    memory_mib: int
    gpus: int
    gpu_resource: str
    extra: dict[str, str]

    def to_manifest(self) -> dict[str, dict[str, str]]:
        """The `resources` of a Container."""
        amounts = {"cpu": quantity.cpu_text(self.cpus), "memory": f"{self.memory_mib}Mi"}
        if self.gpus:
            amounts[self.gpu_resource] = str(self.gpus)
        amounts |= self.extra
        return {"limits": amounts, "requests": dict(amounts)}


def runs_beside(part: Part) -> bool:
    """A restartable init container runs as long as the training does."""
    return part.fields.get("restartPolicy") == "Always"


def divide(spec: JobSpec, placement: Placement, config: Config, findings: Findings) -> dict[str, Share]:
    """The share of each container, by its path."""
    return _Division(placement, config, findings).of(spec)


@dataclass
class _Division:
    placement: Placement
    config: Config
    findings: Findings

    def of(self, spec: JobSpec) -> dict[str, Share]:
        cpus, memory = self._pod()
        shares = {}
        for part in (*spec.sidecars, *filter(runs_beside, spec.inits)):
            share = self._beside(self._ask(part))
            cpus, memory = cpus - share.cpus, memory - share.memory_mib
            shares[part.path] = share
        whole, multiple = int(cpus), self.config.pod.cpu_multiple
        cpus = Fraction(whole - whole % multiple)
        if cpus < 1 <= whole:
            self.findings.refuse(
                at(spec.training.path, "resources.limits.cpu"),
                f"{whole} is left for the training, and this site's nodes give CPUs in multiples of {multiple}",
                f"submit with more --cpus-per-task, {multiple} at least",
            )
        elif cpus < 1 or memory < 1:
            self.findings.refuse(
                spec.pod_path,
                "the other containers leave the training no whole CPU or no memory",
                "lower what they ask for, or submit with more --cpus-per-task and --mem",
            )
        training = self._whole(self._ask(spec.training), cpus, memory, self.placement.gpus_per_node)
        huge = {f"hugepages-{page}": size for page, size in self.config.pod.hugepages.items()}
        rdma = {name: str(count) for name, count in self.config.pod.rdma.items()}
        shares[spec.training.path] = replace(training, extra=huge | training.extra | rdma)
        for part in spec.inits:
            if not runs_beside(part):
                ask = self._ask(part)
                shares[part.path] = self._whole(ask, cpus, memory, int(ask.gpus or 0))
        return shares

    def _pod(self) -> tuple[Fraction, int]:
        """CPUs and MiB of the whole pod."""
        site = quantity.mebibytes(quantity.parse(self.config.pod.max_memory))
        given = self.placement.memory_mib
        cpus = min(self.placement.cpus_per_node, self.config.pod.max_cpus)
        return Fraction(cpus), site if given is None else min(given, site)

    def _beside(self, ask: Ask) -> Share:
        if ask.gpus:
            self.findings.refuse(ask.paths["gpu"], "a container beside the training asks for GPUs", "remove it")
        self._check(ask)
        cpus = SIDECAR_CPUS if ask.cpus is None else ask.cpus
        memory = SIDECAR_MEMORY_MIB if ask.memory_mib is None else ask.memory_mib
        return self._share(cpus, memory, 0, ask)

    def _whole(self, ask: Ask, cpus: Fraction, memory: int, gpus: int) -> Share:
        """All that is left; another wish is refused where it is more than Slurm gave, else replaced."""
        self._check(ask)
        self._check_gpus(ask)
        for name, asked, given in (("cpu", ask.cpus, cpus), ("memory", ask.memory_mib, memory)):
            path = ask.paths.get(name)
            if path and asked != given and path not in self.findings.faulty:
                words = quantity.cpu_text(cpus) if name == "cpu" else f"{memory}Mi"
                self.findings.notice(path, f"replaced by {words}, the job's share of a node")
        return self._share(cpus, memory, gpus, ask)

    def _share(self, cpus: Fraction, memory: int, gpus: int, ask: Ask) -> Share:
        return Share(cpus, memory, gpus, self.placement.gpu_resource, ask.extra)

    def _check(self, ask: Ask) -> None:
        given = self.placement.cpus_per_node
        if ask.cpus is not None and ask.cpus > given:
            wanted = -int(-ask.cpus // 1)
            self.findings.refuse(
                ask.paths["cpu"],
                f"asks for cpu {quantity.cpu_text(ask.cpus)}, Slurm gave {given} per node",
                f"lower it or submit with --cpus-per-task={wanted}",
            )
        if ask.memory_mib is not None:
            self._check_memory(ask.paths["memory"], ask.memory_mib)

    def _check_memory(self, path: str, asked: int) -> None:
        given, cap = self.placement.memory_mib, self._pod()[1]
        if given is not None and asked > given:
            cure = f"lower it or submit with --mem={asked}M"
            self.findings.refuse(path, f"asks for memory {asked}Mi, Slurm gave {given}Mi per node", cure)
        elif given is None and asked > cap:
            what = f"asks for memory {asked}Mi, and the site lets a pod have {cap}Mi"
            self.findings.refuse(path, what, "lower it; Slurm does not count memory here")

    def _check_gpus(self, ask: Ask) -> None:
        given, name = self.placement.gpus_per_node, self.placement.gpu_resource
        if ask.gpus is None or ask.gpus == given:
            return
        cure = "remove it" if given == 0 else f"write {given}, or remove it"
        self.findings.refuse(
            ask.paths["gpu"],
            f"asks for {quantity.cpu_text(ask.gpus)} {name}, Slurm gave {given} per node",
            f"{cure}, or submit with --gpus-per-node={quantity.cpu_text(ask.gpus)}",
        )

    def _ask(self, part: Part) -> Ask:
        declared = part.fields.get("resources", {})
        amounts: dict[str, Fraction] = {}
        extra: dict[str, str] = {}
        paths: dict[str, str] = {}
        for side in ("limits", "requests"):
            for name, value in declared.get(side, {}).items():
                path = f"{part.path}.resources.{side}.{name}"
                key = "gpu" if name in (self.placement.gpu_resource, *self.config.gpu.aliases) else name
                amount = self._amount(path, value)
                if key not in ("cpu", "memory", "gpu"):
                    self._extra(path, name, value, extra)
                elif amount is not None and (key not in amounts or amount > amounts[key]):
                    amounts[key], paths[key] = amount, path
        memory = amounts.get("memory")
        return Ask(
            path=part.path,
            cpus=amounts.get("cpu"),
            memory_mib=None if memory is None else quantity.mebibytes(memory),
            gpus=amounts.get("gpu"),
            extra=extra,
            paths=paths,
        )

    def _amount(self, path: str, value: Any) -> Fraction | None:
        try:
            return quantity.parse(value)
        except ValueError as error:
            self.findings.refuse(path, str(error), "write one such as 2, 500m or 4Gi")
            return None

    def _extra(self, path: str, name: str, value: Any, extra: dict[str, str]) -> None:
        rdma = self.config.pod.rdma
        if rdma and any(fnmatchcase(name, pattern) for pattern in _RDMA):
            if str(value) != str(rdma.get(name)):
                now = " and ".join(f"{count} of {resource}" for resource, count in rdma.items())
                self.findings.notice(path, f"{value} of {name} replaced by {now} for the training, as the site has set")
        elif any(fnmatchcase(name, pattern) for pattern in self.config.pod.extra_resources):
            extra.setdefault(name, str(value))
        else:
            self.findings.refuse(
                path,
                f"{shown(name)} is not a resource that the site lets specs ask for",
                f"remove it; GPUs come from Slurm as {self.placement.gpu_resource}",
            )
