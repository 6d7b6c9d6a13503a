"""What both systems and the machines have seen, whatever the daemons say of it. Times are seconds since the epoch: one
machine has one clock."""

import math
from copy import copy
from dataclasses import dataclass, field, fields

from .plan import Lifecycle


@dataclass
class Hook:
    """A prolog or epilog that slurmd has run on a node; nobody saw the end of one that was killed."""

    node: str
    job: int
    phase: str
    began: float
    ended: float | None = None
    code: int | None = None


@dataclass
class Workload:
    """A PyTorchJob, from the first to the last that the API server told of it. `deleted`: since when it is as good as
    gone: the operator makes no pod for it any more, and it only waits for the garbage collector (None: not told)."""

    uid: str
    name: str
    job: int
    made: float
    gone: float | None = None
    deleted: float | None = None


@dataclass
class Pod:
    """A pod that was bound, and the process on its node that stands for its containers."""

    uid: str
    name: str
    job: int
    node: str
    bound: float
    began: float | None = None
    ended: float | None = None
    gone: float | None = None


@dataclass(frozen=True)
class Drain:
    """slurmctld has taken a node out of service."""

    node: str
    at: float
    reason: str


@dataclass(frozen=True)
class Ended:
    """What accounting has of a job that is over, what is in its output file, and when its script came to `attach`; None
    where nobody could read that."""

    lifecycle: Lifecycle
    state: str
    code: str
    comment: str
    started: bool
    output: str | None = None
    attached: float | None = None


@dataclass(frozen=True)
class Conflict:
    """A process has found the lock of its node held by another one's."""

    node: str
    at: float
    pod: str


@dataclass(frozen=True)
class OwnFault:
    """Something that is wrong with a node itself, from when to when. What makes hooks of one phase fail names it, and
    what has struck one hook its job."""

    began: float
    ended: float
    phase: str = ""
    job: int = 0


@dataclass(frozen=True)
class Strike:
    """A failpoint has struck on a node."""

    node: str
    at: float
    name: str

    def __str__(self) -> str:
        return f"{self.node}: {self.name}"


@dataclass
class History:
    """All of it. `own`: the faults that are a node's own, by node; `troubles`: from when to when its daemon
    may have been kept from its work, for whatever reason; `away`: from when to when it was not there; `tokenless`: when
    it may have lost owners' tokens, or come by none; `forgot`: when it lost its journal; `left`: what was there in the
    end. `epilog_deadline`: of all daemons, in seconds."""

    hooks: list[Hook] = field(default_factory=list)
    workloads: dict[str, Workload] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    drains: list[Drain] = field(default_factory=list)
    ended: dict[int, Ended] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    strikes: list[Strike] = field(default_factory=list)
    own: dict[str, list[OwnFault]] = field(default_factory=dict)
    troubles: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    away: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    tokenless: dict[str, list[float]] = field(default_factory=dict)
    forgot: dict[str, list[float]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    epilog_deadline: float = 60.0

    def at_this_moment(self) -> "History":
        """The same, to which nobody adds: those who write are threads, and a dictionary that grows cannot be read
        through. A copy of one is a single step of the interpreter."""
        return History(**{each.name: copy(getattr(self, each.name)) for each in fields(self)})

    def fault(self, node: str, own: OwnFault) -> None:
        """This node has one of its own."""
        self.own.setdefault(node, []).append(own)

    def trouble(self, node: str, at: float, seconds: float) -> None:
        """This node's daemon has some, from then on, and for so long."""
        self.troubles.setdefault(node, []).append((at, at + seconds))

    def went(self, node: str, at: float, seconds: float = math.inf) -> None:
        """This node's daemon, for so long or until one is ready again."""
        self.away.setdefault(node, []).append((at, at + seconds))

    def came(self, node: str, at: float) -> None:
        """This node's daemon is ready."""
        away = self.away.get(node, [])
        self.away[node] = [(went, min(came, at) if went < at else came) for went, came in away]
