"""What a node's daemon knows of one run. Built by replaying events, never stored itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from bridge.config import Config
from bridge.engine.replacing import replace
from bridge.engine.rules import Rules
from bridge.job.faults import Fault, Finding, Verdict
from bridge.job.ids import RunKey, pod_name, workload_name
from bridge.job.pods import PodFacts
from bridge.slurm.environ import Allocation
from bridge.slurmrest.api import JobRecord


class Phase(Enum):
    """Where a run is on this node. One start, one end, no way back."""

    PROLOG = "prolog"  # the hook waits for the verdict
    RUNNING = "running"  # the prolog has been answered
    RELEASE = "release"  # the epilog began: consent has ended, nothing of the run may stay
    RELEASED = "released"  # proven free


class Workload(Enum):
    """What is known of the run's workload. UNKNOWN: a create was journalled, its answer was not."""

    NONE = "none"
    UNKNOWN = "unknown"
    LIVE = "live"
    DELETING = "deleting"
    GONE = "gone"


class Effort(Enum):
    """One thing to be done in slurmctld, at most once with success."""

    NOT_WANTED = "not wanted"
    WANTED = "wanted"
    DONE = "done"
    GIVEN_UP = "given up"


@dataclass(frozen=True)
class SpecFile:
    """What the hook read, as the job's user: the bytes (base64), or one sentence why not."""

    path: str
    data: str = ""
    error: str = ""


@dataclass(frozen=True)
class Judgement:
    """The prolog's verdict against a run; ``sentence`` has cause and cure, ``fault`` names the row that was met."""

    verdict: Verdict
    sentence: str
    fault: str = ""

    @classmethod
    def of(cls, found: Finding) -> Self:
        """The verdict of a row that was met."""
        return cls(found.fault.verdict, found.sentence, found.fault.name)


@dataclass(frozen=True)
class Requeue:
    """The job goes back into the queue: ``job`` as scontrol names it (an array's element as `12_3`), '' where
    scontrol has to be asked for that name first, and whether it is held there until its owner releases it."""

    job: str
    hold: bool


@dataclass(frozen=True)
class Answer:
    """What a hook is told: exit code, a sentence, the output file it belongs to (or None), a job to requeue
    first, as its owner, and whether a failed epilog leaves somebody behind who goes on scanning."""

    exit: int
    message: str | None = None
    output: str | None = None
    requeue: Requeue | None = None
    linger: bool = False


@dataclass(frozen=True)
class Outcome:
    """How the training ended. ``exit_code`` is what `attach` exits with; ``rank`` the first failing one; ``fault``
    names the row of the fault table that was met."""

    exit_code: int
    reason: str
    rank: int | None = None
    fault: str = ""


@dataclass(frozen=True)
class Suspicion:
    """A row of the fault table met by one rank, since when, and its sentence. ``told`` by the events of the pod with
    this uid, '' where its status says it."""

    fault: Fault
    since: float
    sentence: str
    told: str = ""


@dataclass(frozen=True)
class Mark:
    """What a run's marker on this node names. ``start`` is None where nobody knows which run of the job it was."""

    job_id: int
    restart: int
    start: int | None


@dataclass(frozen=True)
class Unattended:
    """A run that a daemon found in its prolog when it began, and what has come of looking for it since."""

    hook_left: bool = False
    listed: frozenset[tuple[str, str]] = frozenset()  # what, and in which namespace


@dataclass(frozen=True)
class NodeFault:
    """A row of the fault table that this node itself meets: from which look on, at which one last, its sentence."""

    name: str
    since: float
    seen: float
    sentence: str


@dataclass(frozen=True)
class Run:
    """One run as this node knows it. Times are seconds of the boot clock (`clock.py`)."""

    key: RunKey
    name: str
    nodes: tuple[str, ...]
    began: float
    allocation: Allocation | None = None
    groups: tuple[int, ...] = ()
    spec: SpecFile | None = None
    reporting: bool = False
    no_report: str = ""
    rules: Rules = field(default_factory=Rules)
    phase: Phase = Phase.PROLOG
    node_proven: bool = False
    node_gpus: int = 0
    gpu_counts: Mapping[str, int] = field(default_factory=dict)
    full_disk: str = ""
    share_told: bool = False
    looks: int = 0
    look_due: float | None = None
    node_fault: NodeFault | None = None
    accusation: Judgement | None = None
    faulty_others: int | None = None
    batch_lost: bool = False
    record: JobRecord | None = None
    manifest: str = ""
    notices: tuple[str, ...] = ()
    may_be_forgotten: bool = False  # an earlier daemon may have begun it, whose journal is lost
    workload: Workload = Workload.NONE
    workload_uid: str = ""
    workload_failed: bool = False
    workload_seen_at: float | None = None
    workload_shown: bool = False  # since the release began; before, a node may know of it by its pod alone
    pods: Mapping[int, PodFacts] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    opened: str = ""
    known_uids: frozenset[str] = frozenset()
    gone_uids: frozenset[str] = frozenset()  # of pods of this node's rank whose deletion is proven
    ready_at: float | None = None
    suspicions: Mapping[int, Suspicion] = field(default_factory=dict)
    tries: Mapping[str, int] = field(default_factory=dict)
    trouble: str = ""
    trouble_fault: str = ""
    judgement: Judgement | None = None
    judged_at: float | None = None
    sentence: str = ""
    reported: str = ""
    untold: str = ""  # why the job's comment does not say it
    progress: str = ""  # what the comment shall say meanwhile; see `progress`
    progress_at: float | None = None
    progress_count: int = 0
    progress_told: str = ""
    cancel: Effort = Effort.NOT_WANTED
    extend: Effort = Effort.NOT_WANTED
    drain: Effort = Effort.NOT_WANTED
    drain_reason: str = ""
    drained_until_released: bool = False
    resume: Effort = Effort.NOT_WANTED
    prolog_answer: Answer | None = None
    attached: bool = False
    asked_ranks: frozenset[int] = frozenset()  # named by an `attach`
    stop_asked: bool = False  # Slurm has told the script to end
    stop_cause: str = ""  # why, as slurmctld said then; '' while that is not known
    failed_at: float | None = None
    outcome: Outcome | None = None
    epilog_began: float | None = None
    awaited: bool = False  # a hook fails, or has failed, without the proof of its release in time
    epilog_answer: Answer | None = None
    pods_clear: bool = False
    leftovers: tuple[str, ...] = ()
    marked_start: int | None = None
    clock_offset: float = 0.0  # from the boot clock to the calendar; 0 where no event has told it
    stations: Mapping[str, float] = field(default_factory=dict)  # seconds since the epoch; see `stations`
    adopted: bool = False
    unmarked: bool = False
    unattended: Unattended | None = None

    @property
    def mark(self) -> Mark:
        """Its marker: as an epilog found it where the journal knew nothing of the run, else as its prolog wrote it."""
        start = self.marked_start
        if start is None and self.allocation is not None:
            start = self.allocation.start_time
        return Mark(self.key.job_id, self.key.restart, start)

    @property
    def is_batch(self) -> bool:
        """Whether this node is rank 0: the only one that decides, creates and reports."""
        return self.allocation is not None and self.allocation.is_batch

    @property
    def rank(self) -> int | None:
        """Rank of this node; None when all we were given is a job id."""
        return None if self.allocation is None else self.allocation.rank

    @property
    def own_pod(self) -> PodFacts | None:
        """The pod of this node's rank, as last seen."""
        return None if self.rank is None else self.pods.get(self.rank)

    @property
    def own_pod_name(self) -> str:
        """Name of this node's pod; '' when the rank is not known."""
        return "" if self.rank is None else pod_name(self.name, self.rank)

    @property
    def node(self) -> str:
        """This node's Kubernetes name; '' when the rank is not known."""
        return "" if self.rank is None else self.nodes[self.rank]

    @property
    def consent(self) -> bool:
        """Whether this daemon may open a gate of this run: from the prolog to the epilog. The gates of an adopted run
        were opened long ago: one that is closed belongs to a pod that came later. An unattended one may be like it."""
        live = self.phase in (Phase.PROLOG, Phase.RUNNING) and self.judgement is None
        return live and not self.adopted and self.unattended is None

    @property
    def own_pod_visible(self) -> bool:
        """Whether the watch still shows a pod of this node's rank."""
        return self.own_pod is not None and self.rank not in self.lost

    @property
    def own_pods_gone(self) -> bool:
        """Whether each pod of this run that this node knows of is proven deleted, and there was one."""
        return bool(self.known_uids) and self.known_uids <= self.gone_uids

    @property
    def follows(self) -> bool:
        """Whether this daemon follows the whole run: on the batch node, and where `attach` runs."""
        return self.is_batch or self.attached

    @property
    def may_have_reader(self) -> bool:
        """Whether an `attach` of an earlier daemon may have had a part of the output, and come again. While a prolog
        waits there is none: its script has not begun."""
        return self.attached or self.adopted or self.unattended is not None

    @property
    def created_nothing(self) -> bool:
        """Whether this run certainly has nothing in Kubernetes: only the batch node creates, this is the one, and it
        never came to a manifest. So an API server that is away does not keep the node from the next job."""
        return self.is_batch and self.workload is Workload.NONE and not self.manifest and not self.workload_uid

    @property
    def knows_its_workload(self) -> bool:
        """Whether its workload was made for sure, behind the gate: before, what bears its name may be another's, or
        may have lost the gate on the way."""
        return self.workload not in (Workload.NONE, Workload.UNKNOWN)

    @property
    def may_be_creating(self) -> bool:
        """Whether a creation of this run's workload may be under way here. What a watch tells of the name then may be
        an earlier try's, whose answer was lost: that it is deleted, or gone, says nothing of what is made behind it.
        Creation and deletion wait for each other, so the answer of either ends this."""
        return self.is_batch and self.workload is Workload.UNKNOWN and self.unattended is None

    def tried(self, what: str) -> int:
        """How often in a row this activity has failed."""
        return self.tries.get(what, 0)


def new_run(config: Config, allocation: Allocation, began: float) -> Run:
    """A run at its first sight in a prolog."""
    key = RunKey(allocation.cluster, allocation.job_id, allocation.restart)
    return Run(
        key=key,
        name=workload_name(config.cluster.tag, key),
        nodes=tuple(config.cluster.kubernetes_node(node) for node in allocation.nodes),
        began=began,
        allocation=allocation,
    )


def forgotten_run(
    config: Config, began: float, allocation: Allocation | None, key: RunKey, marked_start: int | None
) -> Run:
    """A run that the journal does not know, at its epilog. Its workload may exist."""
    run = Run(key=key, name=workload_name(config.cluster.tag, key), nodes=(), began=began)
    if allocation is not None:
        run = new_run(config, allocation, began)
    return replace(run, workload=Workload.UNKNOWN, marked_start=marked_start)


# By type of event: the run after it, as far as the event itself tells; `machine` leads it on.
Handlers = Mapping[type[Any], Callable[[Run, Any], Run]]
