"""Which jobs get which namespace and which profile."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from bridge.config.section import Label, Section


class JobRule(Section):
    """What jobs of an account, a partition or a QOS get. Each of its words holds where no more specific rule has one.

    A rule is the more specific the more of the three it names; of two that name equally many, account goes before
    QOS, and QOS before partition.
    """

    account: str | None = Field(default=None, min_length=1)
    """A job's account in Slurm."""
    partition: str | None = Field(default=None, min_length=1)
    """A job's partition."""
    qos: str | None = Field(default=None, min_length=1)
    """A job's QOS, which slurmrestd tells the batch node; it needs [slurmrest]."""
    namespace: Label | None = None
    """Namespace of their workloads, with the bridge's Role in it (`rbac/namespace NAME`). Where it goes by QOS, which
    slurmd tells no hook before 26.05, a job's other nodes watch each namespace that it may be until they see it."""
    kubeconfig: Path | None = None
    """Kubeconfig, of the same API server, with which the bridge does everything in that namespace, whichever rule leads
    a job there; without it the node's own does. 0600, owned by the daemon's user; read again when it changes."""
    profile: Label | None = None
    """The profile of those jobs whose spec picks none."""
    profiles: tuple[Label, ...] | None = None
    """Profiles that a spec may pick; `profile` it may pick always."""

    @model_validator(mode="after")
    def _is_of_use(self) -> Self:
        if self.kubeconfig is not None and self.namespace is None:
            raise ValueError("kubeconfig needs a namespace beside it: a credential is that of a namespace")
        if (self.namespace, self.profile, self.profiles) == (None, None, None):
            raise ValueError("says nothing: give it a namespace, a profile or profiles")
        return self

    @property
    def names(self) -> tuple[str | None, str | None, str | None]:
        """What it is about."""
        return self.account, self.qos, self.partition


@dataclass(frozen=True)
class Kind:
    """A job as rules see it; '' where that is not known, which no rule's word equals."""

    account: str = ""
    partition: str = ""
    qos: str = ""


def said(rules: Iterable[JobRule], job: Kind, key: Literal["namespace", "profile", "profiles"]) -> Any:
    """The word of the most specific rule for this job that has one."""
    own = (job.account, job.qos, job.partition)
    fitting = [
        rule
        for rule in rules
        if getattr(rule, key) is not None
        and all(name in (None, mine) for name, mine in zip(rule.names, own, strict=True))
    ]
    best = max(fitting, key=_specific, default=None)
    return None if best is None else getattr(best, key)


def _specific(rule: JobRule) -> tuple[int, tuple[bool, ...]]:
    named = tuple(name is not None for name in rule.names)
    return sum(named), named
