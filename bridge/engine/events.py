"""Everything that can happen to a run, as data: the journal's lines.

Each carries ``at``, seconds of the boot clock, so that the core needs no clock. The JSON form is versioned
by `store.journal`; fields are only ever added, with defaults.
"""

from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter

from bridge.engine.rules import Rules
from bridge.engine.state import SpecFile
from bridge.job.faults import Verdict
from bridge.job.ids import RunKey
from bridge.job.pods import PodFacts, WorkloadFacts
from bridge.slurm.environ import Allocation
from bridge.slurmrest.api import JobRecord


@dataclass(frozen=True)
class PrologBegan:
    """A prolog hook asked. ``spec`` is None on every node but the batch node; ``reporting`` says whether
    slurmrestd can be asked as the owner, ``no_report`` why not; ``rules`` is what the configuration said then;
    ``clock_offset`` the seconds from the boot clock to those since the epoch, 0 in journals of before; ``older``
    whether the hook is older than the daemon."""

    at: float
    allocation: Allocation
    groups: tuple[int, ...] = ()
    spec: SpecFile | None = None
    reporting: bool = False
    no_report: str = ""
    rules: Rules = field(default_factory=Rules)
    clock_offset: float = 0.0
    older: bool = False
    kind: Literal["prolog_began"] = "prolog_began"


@dataclass(frozen=True)
class Adopted:
    """A run of which the journal knew nothing was found again by its workload, at work on this node (`adoption`).

    ``uid`` is the workload's, ``opened`` that of this node's pod, '' where it is gone or still gated; ``marked``
    whether the run's marker is there, so that an epilog will come.
    """

    at: float
    allocation: Allocation
    uid: str
    opened: str = ""
    marked: bool = True
    reporting: bool = False
    rules: Rules = field(default_factory=Rules)
    kind: Literal["adopted"] = "adopted"


@dataclass(frozen=True)
class NodeProven:
    """This kernel is the node that Kubernetes knows under this name (bootID); it has so many GPUs in all, and this disk
    of it is full already ('' for none). ``gpu_counts`` are those GPUs by their resource; none in journals of before."""

    at: float
    gpus: int = 0
    full_disk: str = ""
    gpu_counts: dict[str, int] = field(default_factory=dict)
    kind: Literal["node_proven"] = "node_proven"


@dataclass(frozen=True)
class NodeRefuted:
    """This kernel is not that node, or Kubernetes has no such node, and that is the verdict: the word of versions
    before `NodeAccused`, in their journals."""

    at: float
    sentence: str
    fault: str = ""
    kind: Literal["node_refuted"] = "node_refuted"


@dataclass(frozen=True)
class NodeAccused:
    """This kernel is not that node, or Kubernetes has no such node; the verdict waits for the count of others."""

    at: float
    sentence: str
    fault: str = ""
    kind: Literal["node_accused"] = "node_accused"


@dataclass(frozen=True)
class NodeLooked:
    """The daemon looked at its own node while the prolog waited: the name of the fault table's row that the node
    meets, '' for none, and its sentence; ``batch_lost`` whether Kubernetes has lost the batch node."""

    at: float
    fault: str = ""
    sentence: str = ""
    batch_lost: bool = False
    kind: Literal["node_looked"] = "node_looked"


@dataclass(frozen=True)
class NodeFaultsCounted:
    """The fault of this node was told to the other nodes; so many of them have told one of theirs of late."""

    at: float
    others: int
    kind: Literal["node_faults_counted"] = "node_faults_counted"


@dataclass(frozen=True)
class JobLearned:
    """slurmctld told about the job: at first, and at each poll while the prolog waits."""

    at: float
    record: JobRecord
    kind: Literal["job_learned"] = "job_learned"


@dataclass(frozen=True)
class JobUnknown:
    """slurmctld does not know this job (any more)."""

    at: float
    kind: Literal["job_unknown"] = "job_unknown"


@dataclass(frozen=True)
class NotReporting:
    """slurmctld cannot be asked as the owner, and trying again would not help: tier none for this run."""

    at: float
    sentence: str
    fault: str = ""
    kind: Literal["not_reporting"] = "not_reporting"


@dataclass(frozen=True)
class Failed:
    """An activity was tried and did not succeed; it is tried again while it is wanted. ``fault``: name of the row."""

    at: float
    what: str
    sentence: str
    fault: str = ""
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True)
class Refused:
    """The API server refused the workload or its pods for good (admission, quota, schema): name of the row, and
    its verdict when it was met."""

    at: float
    sentence: str
    fault: str = ""
    verdict: Verdict = Verdict.JOB
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True)
class ServerDown:
    """The API server had been away for long when this prolog began, and has not come back."""

    at: float
    sentence: str
    fault: str = ""
    kind: Literal["server_down"] = "server_down"


@dataclass(frozen=True)
class WorkloadCreated:
    """The workload exists and is ours."""

    at: float
    uid: str
    kind: Literal["workload_created"] = "workload_created"


@dataclass(frozen=True)
class WorkloadSeen:
    """The watch told of the workload; ``namespace`` where, if the run did not know that."""

    at: float
    facts: WorkloadFacts
    namespace: str = ""
    kind: Literal["workload_seen"] = "workload_seen"


@dataclass(frozen=True)
class WorkloadGone:
    """The workload is not there (any more), by a clear word of the API server."""

    at: float
    kind: Literal["workload_gone"] = "workload_gone"


@dataclass(frozen=True)
class WorkloadDeleted:
    """The API server accepted the deletion of this workload."""

    at: float
    uid: str
    kind: Literal["workload_deleted"] = "workload_deleted"


@dataclass(frozen=True)
class PodSeen:
    """The watch told of a pod of this run; ``namespace`` as of `WorkloadSeen`."""

    at: float
    facts: PodFacts
    namespace: str = ""
    kind: Literal["pod_seen"] = "pod_seen"


@dataclass(frozen=True)
class PodTold:
    """What a pod's events say of why it has not started; ``reason`` is '' when they say nothing (any more)."""

    at: float
    rank: int
    uid: str
    reason: str
    message: str = ""
    kind: Literal["pod_told"] = "pod_told"


@dataclass(frozen=True)
class PodGone:
    """A pod that was seen is no longer there. ``proven``: the API server said that just this object was deleted; a
    watch may also lose sight of a pod that is there, as when somebody takes its labels away."""

    at: float
    rank: int
    uid: str
    proven: bool = False
    kind: Literal["pod_gone"] = "pod_gone"


@dataclass(frozen=True)
class ShareTold:
    """Why the gate of this node's pod stays closed was said by an event of it."""

    at: float
    kind: Literal["share_told"] = "share_told"


@dataclass(frozen=True)
class GateOpened:
    """This node's pod was let through to the scheduler."""

    at: float
    uid: str
    kind: Literal["gate_opened"] = "gate_opened"


@dataclass(frozen=True)
class Reported:
    """The job's comment says this sentence; ``given_up`` why it does not."""

    at: float
    sentence: str
    given_up: str = ""
    kind: Literal["reported"] = "reported"


@dataclass(frozen=True)
class ProgressTold:
    """The job's comment says what its prolog waits for; ``given_up`` why it does not. Nothing depends on it."""

    at: float
    sentence: str
    given_up: str = ""
    kind: Literal["progress_told"] = "progress_told"


@dataclass(frozen=True)
class Cancelled:
    """slurmctld accepted the end of the job; ``given_up`` why it did not."""

    at: float
    given_up: str = ""
    kind: Literal["cancelled"] = "cancelled"


@dataclass(frozen=True)
class Extended:
    """The job has a longer time limit; ``given_up`` why it has not."""

    at: float
    given_up: str = ""
    kind: Literal["extended"] = "extended"


@dataclass(frozen=True)
class Drained:
    """slurmctld has taken this node out of service with our reason; ``given_up`` why it has not."""

    at: float
    given_up: str = ""
    kind: Literal["drained"] = "drained"


@dataclass(frozen=True)
class Resumed:
    """Our drain of this node is lifted, or was no longer ours; ``given_up`` why that could not be done."""

    at: float
    given_up: str = ""
    kind: Literal["resumed"] = "resumed"


@dataclass(frozen=True)
class Attached:
    """`bridgectl attach` runs on this node: its daemon follows the whole run. ``ranks`` are those that it names, whose
    output is followed however many there are. ``reporting``: it brings its owner's token, the one thing that
    slurmrestd could not be asked without."""

    at: float
    ranks: tuple[int, ...] = ()
    reporting: bool = False
    kind: Literal["attached"] = "attached"


@dataclass(frozen=True)
class StopAsked:
    """`bridgectl attach` was told by Slurm (SIGTERM) to end, and the run with it."""

    at: float
    kind: Literal["stop_asked"] = "stop_asked"


@dataclass(frozen=True)
class EpilogBegan:
    """An epilog hook asked, or a newer run of the same job needs this one gone.

    For a run that the journal does not know, the allocation (or, in a bare epilog, cluster and job id) says
    which one it was, with restart and start as its marker names them; ``start`` is None where it does not.
    ``clock_offset`` as in `PrologBegan`; ``awaited``: a hook waits for the proof and fails without it; else this daemon
    has found out by itself that the run is over.
    """

    at: float
    allocation: Allocation | None = None
    cluster: str = ""
    job_id: int = 0
    restart: int = 0
    start: int | None = None
    clock_offset: float = 0.0
    awaited: bool = True
    kind: Literal["epilog_began"] = "epilog_began"

    @classmethod
    def bare(cls, at: float, key: RunKey, start: int | None, *, awaited: bool = True) -> Self:
        """Of a run of which no more is known than a marker, or an epilog with nothing but a job's number, tells."""
        return cls(at, None, key.cluster, key.job_id, key.restart, start, awaited=awaited)


@dataclass(frozen=True)
class PodsClear:
    """Own pod 404 by name, and a consistent list without a pod of this run on this node."""

    at: float
    uids: tuple[str, ...] = ()
    kind: Literal["pods_clear"] = "pods_clear"


@dataclass(frozen=True)
class PodsRemain:
    """The consistent list still shows pods of this run on this node; ``sentence`` says which, and why if known."""

    at: float
    uids: tuple[str, ...]
    sentence: str = ""
    kind: Literal["pods_remain"] = "pods_remain"


@dataclass(frozen=True)
class Scanned:
    """The hook's scan of the node: what of this run is alive, or why it could not look."""

    at: float
    leftovers: tuple[str, ...]
    error: str = ""
    kind: Literal["scanned"] = "scanned"


@dataclass(frozen=True)
class TakenUp:
    """A daemon began, and by its journal this run is in its prolog: its hook comes back, or the journal is old."""

    at: float
    kind: Literal["taken_up"] = "taken_up"


@dataclass(frozen=True)
class Listed:
    """What Kubernetes has of this run, as far as this node watches it, has been told since `TakenUp`."""

    at: float
    what: Literal["workload", "pods"]
    namespace: str = ""
    kind: Literal["listed"] = "listed"


@dataclass(frozen=True)
class HookLeft:
    """A waiting hook is gone without its answer and has not come back in time."""

    at: float
    kind: Literal["hook_left"] = "hook_left"


@dataclass(frozen=True)
class Ticked:
    """Time passed; journalled only where it changed something."""

    at: float
    kind: Literal["ticked"] = "ticked"


Event = Annotated[
    PrologBegan
    | Adopted
    | NodeProven
    | NodeRefuted
    | NodeAccused
    | NodeLooked
    | NodeFaultsCounted
    | JobLearned
    | JobUnknown
    | NotReporting
    | Failed
    | Refused
    | ServerDown
    | WorkloadCreated
    | WorkloadSeen
    | WorkloadGone
    | WorkloadDeleted
    | PodSeen
    | PodTold
    | PodGone
    | GateOpened
    | ShareTold
    | Reported
    | ProgressTold
    | Cancelled
    | Extended
    | Drained
    | Resumed
    | Attached
    | StopAsked
    | EpilogBegan
    | PodsClear
    | PodsRemain
    | Scanned
    | TakenUp
    | Listed
    | HookLeft
    | Ticked,
    Field(discriminator="kind"),
]

_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def to_json(event: Event) -> bytes:
    """One journal line."""
    return _ADAPTER.dump_json(event, exclude_defaults=False)


def from_json(data: bytes) -> Event:
    """The event of a journal line; raises pydantic.ValidationError."""
    return _ADAPTER.validate_json(data)
