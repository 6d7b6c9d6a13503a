"""bridge.toml: frozen, typed, unknown keys refused. Every field says its unit and why its default.

The daemon reads it once at start; `bridged --check-config` reads it and says what is wrong. Its sections stand in the
files beside this one: `servers`, `pod` with `fabric` and `checkpoints`, `jobs`, `timing`,
`metrics`.
"""

import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from bridge import wellknown
from bridge.config.jobs import JobRule, Kind, said
from bridge.config.metrics import Metrics
from bridge.config.pod import Gpu, Pod, Volume
from bridge.config.section import Label, Section
from bridge.config.servers import Cluster, KubernetesAccess, Slurmrest
from bridge.config.timing import Timing
from bridge.errors import ConfigError
from bridge.messages import bridged as messages


class Config(Section):
    """The whole file."""

    cluster: Cluster
    kubernetes: KubernetesAccess
    pod: Pod
    gpu: Gpu = Gpu()
    slurmrest: Slurmrest | None = None
    volumes: dict[Label, Volume] = Field(default_factory=dict)
    profiles: dict[Label, Pod] = Field(default_factory=dict)
    """Other ways to run a job's pods than [pod], for those jobs that [[jobs]] says."""
    jobs: tuple[JobRule, ...] = ()
    """Which jobs have which namespace and which profile."""
    timing: Timing = Timing()
    metrics: Metrics | None = None
    """Where the daemon's metrics go; nowhere by default."""
    journal_dir: Path = Path(wellknown.JOURNAL_DIR)
    """Directory of the journal, owned by the daemon's user."""
    timeline_file: bool = True
    """Leave the time line of each run beside the job's output file (`OUTPUT.k8s.json`, written as the job's user,
    some kilobytes): what `bridgectl explain` on a login node reads once the job is over."""
    node_fault_limit: int = Field(default=3, ge=1)
    """When so many other nodes met a fault of their own within `timing.node_fault_window`, the next one is taken
    for a fault that all share, and drains no node."""
    on_job_fault: Literal["cancel", "hold"] = "cancel"
    """What becomes of a job that its owner must mend: cancelled, or held for them."""

    @model_validator(mode="before")
    @classmethod
    def _profiles_begin_as_pod(cls, data: Any) -> Any:
        pod = data.get("pod") if isinstance(data, dict) else None
        profiles = data.get("profiles") if isinstance(data, dict) else None
        if not isinstance(pod, dict) or not isinstance(profiles, dict):
            return data
        return {**data, "profiles": {name: _laid_over(pod, own) for name, own in profiles.items()}}

    @model_validator(mode="after")
    def _names_what_there_is(self) -> Self:
        for where, pod in (("pod", self.pod), *((f"profiles.{name}", pod) for name, pod in self.profiles.items())):
            for name in (*pod.volumes, *([pod.checkpoints.volume] if pod.checkpoints else [])):
                if name not in self.volumes:
                    raise ValueError(f"{where}: there is no volume {name}; write [volumes.{name}]")
            if pod.checkpoints and self.volumes[pod.checkpoints.volume].read_only:
                raise ValueError(f"{where}.checkpoints: the volume {pod.checkpoints.volume} is read-only")
        for rule in self.jobs:
            for name in (*(rule.profiles or ()), *([rule.profile] if rule.profile else [])):
                if name not in self.profiles:
                    raise ValueError(f"jobs: there is no profile {name}; write [profiles.{name}]")
        if self.qos_of_namespaces and self.slurmrest is None:
            raise ValueError("jobs: a namespace that goes by qos needs [slurmrest], which alone tells a job's qos")
        if len({rule.names for rule in self.jobs}) < len(self.jobs):
            raise ValueError("jobs: two rules are about the same jobs; make them one")
        return self

    @model_validator(mode="after")
    def _reaches_each_namespace_in_one_way(self) -> Self:
        ways: dict[str, Path] = {self.kubernetes.namespace: self.kubernetes.kubeconfig}
        for rule in self.jobs:
            if rule.namespace is None or rule.kubeconfig is None:
                continue
            if ways.setdefault(rule.namespace, rule.kubeconfig) != rule.kubeconfig:
                raise ValueError(f"jobs: the namespace {rule.namespace} has two kubeconfigs; leave one")
        return self

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Every namespace that may have workloads of this cluster, the usual one first."""
        named = [rule.namespace for rule in self.jobs if rule.namespace is not None]
        return tuple(dict.fromkeys([self.kubernetes.namespace, *named]))

    @property
    def qos_of_namespaces(self) -> tuple[str, ...]:
        """Every QOS by which a namespace may go."""
        named = [rule.qos for rule in self.jobs if rule.namespace is not None and rule.qos is not None]
        return tuple(dict.fromkeys(named))

    def kubeconfig_of(self, namespace: str) -> Path | None:
        """The kubeconfig with which this namespace is reached; None: the node's own."""
        named = [rule.kubeconfig for rule in self.jobs if rule.namespace == namespace and rule.kubeconfig is not None]
        own = self.kubernetes.kubeconfig
        return next((path for path in named if path != own), None)

    def namespace_of(self, job: Kind) -> str:
        """Namespace of the workload of such a job."""
        return said(self.jobs, job, "namespace") or self.kubernetes.namespace

    def profiles_of(self, job: Kind) -> tuple[str, tuple[str, ...]]:
        """The profile of such a job, '' for [pod] alone, and the profiles that its spec may pick."""
        usual: str = said(self.jobs, job, "profile") or ""
        open_to_it: tuple[str, ...] = said(self.jobs, job, "profiles") or ()
        return usual, tuple(dict.fromkeys([*([usual] if usual else []), *open_to_it]))

    def with_profile(self, name: str) -> "Config":
        """The same with this profile in the place of [pod]; '' changes nothing."""
        return self.model_copy(update={"pod": self.profiles[name]}) if name else self


def load(path: Path) -> Config:
    """The configuration in this file.

    Raises ConfigError naming the file, the key and what is wrong with it.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(messages.CONFIG_UNREADABLE.sentence(path=path, why=error.strerror)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(messages.CONFIG_NOT_TOML.sentence(path=path, why=error)) from error
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors())
        raise ConfigError(messages.CONFIG_INVALID.sentence(path=path, faults=faults)) from error


def _laid_over(pod: dict[str, Any], own: Any) -> Any:
    """A profile's keys over those of [pod]; where both have a table, its keys likewise."""
    if not isinstance(own, dict):
        return own
    both = {name: _laid_over(pod[name], value) for name, value in own.items() if isinstance(pod.get(name), dict)}
    return {**pod, **own, **both}


def _fault(item: object) -> str:
    assert isinstance(item, dict)
    where = ".".join(str(part) for part in item["loc"])
    what = messages.UNKNOWN_KEY if item["type"] == "extra_forbidden" else item["msg"]
    return f"{where}: {what}"
