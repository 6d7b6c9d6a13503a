"""What a chaos run does, drawn from its seed and from nothing else: jobs, what becomes of their pods, and faults."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import TypeVar

_LONG = 600.0  # seconds: until somebody ends it
PROLOG_DEADLINE = 180.0  # seconds, and a usual 300
RECONCILE_PERIOD = 20.0  # seconds between two looks at what is left of runs, and a usual 300
LIMIT = 3  # minutes that a job may last
_T = TypeVar("_T")


class Kind(Enum):
    """How the life of a job goes."""

    SUCCESS = "success"
    FAILURE = "failure"  # one rank ends with an error
    QUICK_END = "quick end"  # the script waits for nothing
    CANCEL = "cancel"
    REQUEUE = "requeue"
    TIME_LIMIT = "time limit"
    BAD_SPEC = "bad spec"
    SLOW_PULL = "slow pull"
    STUBBORN = "stubborn"  # one of its processes outlives the epilog's deadline: its node is at fault
    FOREIGN = "foreign"  # none of ours
    NO_SPEC = "no spec"  # none of ours either: its owner has named no spec, and its script attaches nevertheless


class Harm(Enum):
    """What goes wrong."""

    DAEMON_KILLED = "daemon killed"
    DAEMON_FROZEN = "daemon frozen"
    JOURNAL_LOST = "journal lost"  # with the daemon's life
    # On the way between a node's daemon and a server.
    REFUSED = "connections refused"
    SILENT = "no answer"
    CUT = "connections cut"
    LOST = "answers lost"
    TWICE = "requests twice"
    LATE = "answers late"
    ERRORS = "errors"
    # Of all nodes.
    APISERVER = "API server anew"
    SLURMCTLD = "slurmctld anew"
    SLURMRESTD = "slurmrestd anew"
    OPERATOR = "operator frozen"
    SCHEDULER = "scheduler frozen"
    COLLECTOR = "garbage collector frozen"
    # Of a node itself.
    GPUS_GONE = "GPUs gone"


class Server(Enum):
    """Whom a daemon asks."""

    KUBERNETES = "API server"
    SLURM = "slurmrestd"


ON_THE_WAY = (Harm.REFUSED, Harm.SILENT, Harm.CUT, Harm.LOST, Harm.TWICE, Harm.LATE, Harm.ERRORS)
KILLING = (Harm.DAEMON_KILLED, Harm.JOURNAL_LOST)
SILENCING = (*KILLING, Harm.DAEMON_FROZEN)


@dataclass(frozen=True)
class Pace:
    """Seconds on average between two faults of the whole site, and between two failpoints of a node; and at least
    between two that silence its daemon, or from when one is ready to serve until it is silenced again, whichever is
    over first. A hook has 30 or 60 s of patience with it, and a node is drained behind them, as it should be; thirty
    daemons on two processors were seen to begin for more than 30. With one that is ready each hook that waits has
    spoken within a second or two, and its patience is whole again."""

    faults: float
    failpoints: float
    silences: float = 45.0
    serves: float = 45.0


@dataclass(frozen=True)
class Mix:
    """What a run of chaos is made of. Weights of kinds, sizes and harms; shares of jobs whose script `looks` into what
    a rank has printed, and whose owner is `patient` and ends them late; in seconds, when a `slow` pod starts and for
    how long a process is `stubborn`, the daemons' `epilog_deadline` (a usual one is most of an hour) and
    `node_patience`, and until somebody gives a drained node back. One in so many daemons is an `administrator`, and one
    `holds` jobs that it refuses (0: none). Where the daemons are `old` they have kept so many runs that each new one
    makes them forget another. Failpoints of the places that it `seeks` are armed until they have struck `enough`; all
    and always where it seeks none. It has a `pace` that is good for thirty nodes on two processors."""

    name: str
    pace: Pace
    kinds: Mapping[Kind, int]
    sizes: Mapping[int, int]
    harms: Mapping[Harm, int]
    looks: float
    patient: float
    slow: tuple[float, float]
    stubborn: tuple[float, float]
    epilog_deadline: float
    node_patience: float
    given_back: float
    administrator: int
    holds: int
    old: bool
    seeks: frozenset[str]
    enough: int


NONE_OF_OURS = (Kind.FOREIGN, Kind.NO_SPEC)
_ENDED_BY_OTHERS = (Kind.QUICK_END, Kind.CANCEL, Kind.TIME_LIMIT, Kind.STUBBORN)
BAD_SPECS = (
    "kind: Sonata",
    "{",
    "apiVersion: slurm-k8s-bridge/v1\nkind: ContainerJob\n",
    "apiVersion: slurm-k8s-bridge/v1\nkind: ContainerJob\nimage: small\nnodes: 4\n",
    "apiVersion: slurm-k8s-bridge/v1\nkind: ContainerJob\nimage: small\nmetadata: {finalizers: [mine]}\n",
    "",
)


@dataclass(frozen=True)
class Lifecycle:
    """A job. `after`: seconds from its submission until somebody cancels or requeues it; `looks`: whether its script
    looks into what a rank has printed."""

    number: int
    kind: Kind
    nodes: int
    after: float
    attaches: bool
    looks: bool
    bad_spec: str


@dataclass(frozen=True)
class PodLife:
    """Of one pod, in seconds: from its binding until it runs, until it ends by itself; from its deletion until its
    process has ended, and until its object is gone."""

    starts: float
    runs: float
    code: int
    lingers: float
    vanishes: float


@dataclass(frozen=True)
class Fault:
    """`at` seconds after the begin; `node` by number; `share` of the requests that it meets."""

    at: float
    harm: Harm
    node: int
    server: Server
    seconds: float
    share: float

    def beside(self, spared: Sequence[bool]) -> "Fault | None":
        """The same on the next node whose daemon is not spared, of all by their numbers, if it silences one; None
        where each is."""
        if self.harm not in SILENCING:
            return self
        following = ((self.node + step) % len(spared) for step in range(len(spared)))
        node = next((node for node in following if not spared[node]), None)
        return None if node is None else replace(self, node=node)


def lifecycles(seed: int, most_nodes: int, mix: Mix) -> Iterator[Lifecycle]:
    """Without end."""
    number = 0
    sizes = {size: weight for size, weight in mix.sizes.items() if size <= most_nodes}
    while True:
        chance = Random(f"{seed} lifecycle {number}")
        kind = _drawn(chance, mix.kinds)
        yield Lifecycle(
            number,
            kind,
            nodes=_drawn(chance, sizes),
            after=chance.uniform(0, 8) if chance.random() < 1 - mix.patient else chance.uniform(8, 20),
            attaches=kind not in (Kind.QUICK_END, Kind.STUBBORN, Kind.FOREIGN),
            looks=chance.random() < mix.looks,
            bad_spec=chance.choice(BAD_SPECS),
        )
        number += 1


def pod_life(seed: int, of: Lifecycle, rank: int, try_: int, mix: Mix) -> PodLife:
    """Of the pod of this rank in the job's first, second... run."""
    all_ranks = Random(f"{seed} pods {of.number} {try_}")
    runs, code, guilty = all_ranks.uniform(0.2, 4), all_ranks.randint(1, 99), all_ranks.randrange(of.nodes)
    own = Random(f"{seed} pod {of.number} {try_} {rank}")
    starts = own.uniform(*mix.slow) if of.kind is Kind.SLOW_PULL else own.expovariate(2)
    fails = of.kind is Kind.FAILURE and rank == guilty
    lingers = own.uniform(*mix.stubborn) if of.kind is Kind.STUBBORN and rank == guilty else own.uniform(0, 5)
    if of.kind in _ENDED_BY_OTHERS or (of.kind is Kind.FAILURE and not fails):
        runs = _LONG
    # As often as not the object is there after the process, as a kubelet that works has it; and as often before.
    return PodLife(starts, runs, code if fails else 0, lingers, own.choice((0.0, own.uniform(0, 5))))


def faults(seed: int, nodes: int, gap: float, mix: Mix) -> Iterator[Fault]:
    """Without end, in the order of their times; `gap`: seconds between two of them, on average."""
    chance, at = Random(f"{seed} faults"), 0.0
    while True:
        at += chance.expovariate(1 / gap)
        yield Fault(
            at,
            _drawn(chance, mix.harms),
            node=chance.randrange(nodes),
            server=chance.choice((Server.KUBERNETES, Server.KUBERNETES, Server.SLURM)),
            seconds=chance.uniform(0.5, 6),
            share=chance.choice((0.2, 0.5, 1.0)),
        )


def _drawn(chance: Random, weights: Mapping[_T, int]) -> _T:
    choices: Sequence[_T] = list(weights)
    return chance.choices(choices, list(weights.values()))[0]
