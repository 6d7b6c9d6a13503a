"""What a chaos run does, drawn from its seed and from nothing else: jobs, what becomes of their pods, and faults."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TypeVar

_LOOKS = 0.2  # of jobs
_LONG = 600.0  # seconds: until somebody ends it
EPILOG_DEADLINE = 60.0  # seconds; the daemons' usual one is most of an hour
PROLOG_DEADLINE = 180.0  # seconds, and a usual 300
RECONCILE_PERIOD = 20.0  # seconds between two looks at what is left of runs, and a usual 300
LIMIT = 3  # minutes that a job may last
_STUBBORN = (75.0, 95.0)  # seconds
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


class Server(Enum):
    """Whom a daemon asks."""

    KUBERNETES = "API server"
    SLURM = "slurmrestd"


ON_THE_WAY = (Harm.REFUSED, Harm.SILENT, Harm.CUT, Harm.LOST, Harm.TWICE, Harm.LATE, Harm.ERRORS)
_KINDS = {
    Kind.SUCCESS: 24,
    Kind.FAILURE: 14,
    Kind.QUICK_END: 14,
    Kind.CANCEL: 18,
    Kind.REQUEUE: 6,
    Kind.TIME_LIMIT: 1,
    Kind.BAD_SPEC: 8,
    Kind.SLOW_PULL: 8,
    Kind.STUBBORN: 2,
    Kind.FOREIGN: 7,
}
_SIZES = {1: 50, 2: 24, 3: 8, 4: 8, 5: 3, 6: 2, 7: 2, 8: 3}
_HARMS = {
    Harm.DAEMON_KILLED: 22,
    Harm.DAEMON_FROZEN: 6,
    Harm.JOURNAL_LOST: 4,
    **dict.fromkeys(ON_THE_WAY, 9),
    Harm.APISERVER: 1,
    Harm.SLURMCTLD: 1,
    Harm.SLURMRESTD: 2,
    Harm.OPERATOR: 2,
    Harm.SCHEDULER: 2,
}
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


def lifecycles(seed: int, most_nodes: int) -> Iterator[Lifecycle]:
    """Without end."""
    number = 0
    sizes = {size: weight for size, weight in _SIZES.items() if size <= most_nodes}
    while True:
        chance = Random(f"{seed} lifecycle {number}")
        kind = _drawn(chance, _KINDS)
        yield Lifecycle(
            number,
            kind,
            nodes=_drawn(chance, sizes),
            after=chance.uniform(0, 8) if chance.random() < 0.8 else chance.uniform(8, 20),
            attaches=kind not in (Kind.QUICK_END, Kind.STUBBORN, Kind.FOREIGN),
            looks=chance.random() < _LOOKS,
            bad_spec=chance.choice(BAD_SPECS),
        )
        number += 1


def pod_life(seed: int, of: Lifecycle, rank: int, try_: int) -> PodLife:
    """Of the pod of this rank in the job's first, second... run."""
    all_ranks = Random(f"{seed} pods {of.number} {try_}")
    runs, code, guilty = all_ranks.uniform(0.2, 4), all_ranks.randint(1, 99), all_ranks.randrange(of.nodes)
    own = Random(f"{seed} pod {of.number} {try_} {rank}")
    starts = own.uniform(8, 25) if of.kind is Kind.SLOW_PULL else own.expovariate(2)
    fails = of.kind is Kind.FAILURE and rank == guilty
    lingers = own.uniform(*_STUBBORN) if of.kind is Kind.STUBBORN and rank == guilty else own.uniform(0, 5)
    if of.kind in _ENDED_BY_OTHERS or (of.kind is Kind.FAILURE and not fails):
        runs = _LONG
    # As often as not the object is there after the process, as a kubelet that works has it; and as often before.
    return PodLife(starts, runs, code if fails else 0, lingers, own.choice((0.0, own.uniform(0, 5))))


def faults(seed: int, nodes: int, gap: float) -> Iterator[Fault]:
    """Without end, in the order of their times; `gap`: seconds between two of them, on average."""
    chance, at = Random(f"{seed} faults"), 0.0
    while True:
        at += chance.expovariate(1 / gap)
        yield Fault(
            at,
            _drawn(chance, _HARMS),
            node=chance.randrange(nodes),
            server=chance.choice((Server.KUBERNETES, Server.KUBERNETES, Server.SLURM)),
            seconds=chance.uniform(0.5, 6),
            share=chance.choice((0.2, 0.5, 1.0)),
        )


def _drawn(chance: Random, weights: Mapping[_T, int]) -> _T:
    choices: Sequence[_T] = list(weights)
    return chance.choices(choices, list(weights.values()))[0]
