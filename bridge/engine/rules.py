"""What decides about a run and may be configured anew while it lives: the run goes by what was said when it began."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import ValidationError

from bridge.config import Config
from bridge.config.jobs import Kind
from bridge.config.timing import Timing
from bridge.slurm.environ import Allocation

_SITE = ("pod", "gpu", "volumes", "profiles", "jobs")


def kind(allocation: Allocation, qos: str = "") -> Kind:
    """The job as the site's rules see it."""
    return Kind(allocation.account or "", allocation.partition, qos)


@dataclass(frozen=True)
class Place:
    """A namespace, and the kubeconfig with which it was reached when a run began, '' for the node's own."""

    namespace: str
    kubeconfig: str = ""


@dataclass(frozen=True)
class Rules:
    """What decides about a run and may be configured anew while it lives: the run goes by what was said when it began.

    Else the replay of its journal under other patiences could judge a training that has long been running. ``timing``
    is the section of bridge.toml by that name; empty in a journal of before there were rules. ``namespace`` is the
    workload's, ``kubeconfig`` as of `Place`. ``site`` has the sections by which it is rendered, on the batch node and
    until that is done; whatever is asked for later goes by the object that the API server has.

    Where the namespace goes by QOS, ``places`` has that of each QOS, and of any other one under '', as long as the
    run's is not known: the batch node learns it from slurmctld, every other one sees where its workload appears, since
    before Slurm 26.05 no hook is told of a QOS.
    """

    timing: Mapping[str, float] = field(default_factory=dict)
    on_job_fault: Literal["cancel", "hold"] = "cancel"
    node_fault_limit: int = 0
    namespace: str = ""
    kubeconfig: str = ""
    site: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config, allocation: Allocation | None = None) -> Self:
        """What this configuration says of a run with this allocation."""
        rules = cls(config.timing.model_dump(), config.on_job_fault, config.node_fault_limit)
        if allocation is None:
            return rules
        site = config.model_dump(mode="json", exclude_unset=True, include=set(_SITE)) if allocation.is_batch else {}
        namespaces = {qos: config.namespace_of(kind(allocation, qos)) for qos in ("", *config.qos_of_namespaces)}
        places = {qos: _place(config, namespace) for qos, namespace in namespaces.items()}
        rules = replace(rules, site=site, places=places)
        return rules if len(set(places.values())) > 1 else rules.of_qos("")

    def led_to(self, config: Config, namespace: str) -> Self:
        """The same for a workload in this namespace."""
        return self._at(_place(config, namespace))

    def of_qos(self, qos: str) -> Self:
        """The same for a job of this QOS, '' where it is not known."""
        return self._at(self.places.get(qos) or self.places[""]) if self.places else self

    def found_in(self, namespace: str) -> Self:
        """The same when the workload has been seen in this namespace."""
        place = next((place for place in self.places.values() if place.namespace == namespace), None)
        return self if place is None else self._at(place)

    def _at(self, place: Place) -> Self:
        return replace(self, namespace=place.namespace, kubeconfig=place.kubeconfig, places={})

    @property
    def possible(self) -> tuple[Place, ...]:
        """Where the workload may be; one place as soon as that is known. Empty in old journals."""
        known = [Place(self.namespace, self.kubeconfig)] if self.namespace else []
        return tuple(known or dict.fromkeys(self.places.values()))

    @property
    def homes(self) -> tuple[str, ...]:
        """The namespaces of these places; '' alone in old journals."""
        return tuple(place.namespace for place in self.possible) or ("",)

    def apart(self, namespace: str = "") -> str:
        """The namespace, by default the workload's, where another credential than the node's own speaks in it; else
        ''."""
        where = namespace or self.namespace
        return where if any(place.kubeconfig for place in self.possible if place.namespace == where) else ""

    def applied(self, config: Config) -> Config:
        """The configuration with these rules; with its own where there are none, or one is of another version."""
        if not self.timing:
            return config
        if not self._applied or self._applied[0] is not config:
            self._applied[:] = [config, self._applied_to(config)]  # every event of a run asks for it
        return self._applied[1]

    @cached_property
    def _applied(self) -> list[Config]:
        """A configuration, and the same with these rules; none at first."""
        return []

    def _applied_to(self, config: Config) -> Config:
        known = {name: value for name, value in self.timing.items() if name in Timing.model_fields}
        update = {"timing": config.timing.model_copy(update=known), "on_job_fault": self.on_job_fault}
        return config.model_copy(update=update | {"node_fault_limit": self.node_fault_limit})

    def sited(self, config: Config) -> Config:
        """The configuration by which the run is rendered; its own where there is none, or this version has no way to
        read it any more."""
        return _SITES.of(config, self.site) if self.site else config


class _Sites:
    """Configurations with the sections of a run. The next run nearly always has the same as the last one, and a replay
    asks for those of each."""

    def __init__(self) -> None:
        self._last: tuple[Config, Mapping[str, Any], Config] | None = None

    def of(self, config: Config, site: Mapping[str, Any]) -> Config:
        """The configuration with these sections; as it is where they cannot be read."""
        last = self._last
        if last is None or last[0] is not config or last[1] != site:
            self._last = last = config, site, self._made(config, site)
        return last[2]

    @staticmethod
    def _made(config: Config, site: Mapping[str, Any]) -> Config:
        today = config.model_dump(mode="json", exclude_unset=True, exclude=set(_SITE))
        try:
            return Config.model_validate(today | dict(site), extra="ignore")
        except ValidationError:
            return config


_SITES = _Sites()


def _place(config: Config, namespace: str) -> Place:
    return Place(namespace, str(config.kubeconfig_of(namespace) or ""))
