"""What a run wants done, as data. `wanted` says which; the executor does them; their results are events.

An activity is its own name: equal means the same piece of work. ``attempt`` makes a retry a new one, and
tells the executor how long to wait before it. Activities of one lane of one run never overlap: a gate
that is being opened is opened before its pod is proven gone. ``what`` names the kind in `Run.tries`.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class ProveNode:
    """Read our own Node and compare its bootID with this kernel's."""

    node: str
    attempt: int
    lane: ClassVar[str] = "node"
    what: ClassVar[str] = "node"


@dataclass(frozen=True)
class LookAtNode:
    """See whether this node itself is why nothing starts; on other nodes whether ``batch_node`` is still there."""

    node: str
    batch_node: str
    number: int
    attempt: int
    lane: ClassVar[str] = "node"
    what: ClassVar[str] = "look"


@dataclass(frozen=True)
class CountNodeFaults:
    """Tell the other nodes of this node's fault, and count those that told one of theirs."""

    node: str
    sentence: str
    attempt: int
    lane: ClassVar[str] = "node"
    what: ClassVar[str] = "count"


@dataclass(frozen=True)
class LearnJob:
    """Ask slurmctld about this one job, once."""

    job_id: int
    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "learn"


@dataclass(frozen=True)
class PollJob:
    """Ask slurmctld about this one job again and again while the prolog waits."""

    job_id: int
    lane: ClassVar[str] = "poll"


@dataclass(frozen=True)
class CreateWorkload:
    """Create the workload, or recognise it as ours after a lost answer."""

    manifest: str
    attempt: int
    lane: ClassVar[str] = "workload"
    what: ClassVar[str] = "create"


@dataclass(frozen=True)
class WatchWorkload:
    """Tell every change of the workload; ``namespace`` says where, as long as it is not known where the run's is."""

    name: str
    namespace: str = ""
    lane: ClassVar[str] = "watch-workload"


@dataclass(frozen=True)
class LookForWorkload:
    """See whether the workload is there, and stays there, on a node whose own pod does not come; or, in the release,
    whether somebody has deleted it."""

    name: str
    number: int
    attempt: int
    lane: ClassVar[str] = "watch-workload"
    what: ClassVar[str] = "gang"


@dataclass(frozen=True)
class WatchPods:
    """Tell every change of the run's pods; of one pod where ``pod`` names it. ``namespace`` as of `WatchWorkload`."""

    name: str
    pod: str
    namespace: str = ""
    lane: ClassVar[str] = "watch-pods"


@dataclass(frozen=True)
class OpenGate:
    """Let this node's pod through to the scheduler; ``patch`` is the JSON patch."""

    pod: str
    uid: str
    patch: str
    attempt: int
    lane: ClassVar[str] = "pod"
    what: ClassVar[str] = "gate"


@dataclass(frozen=True)
class TellShare:
    """Say by an event of this node's pod why its gate stays closed: the batch node judges the job by it."""

    pod: str
    uid: str
    reason: str
    sentence: str
    attempt: int
    lane: ClassVar[str] = "pod"
    what: ClassVar[str] = "share"


@dataclass(frozen=True)
class TellSlurmSide:
    """Say by an event of the workload with this uid what Slurm's side of the run is, once and if that can be done."""

    uid: str
    reason: str
    sentence: str
    lane: ClassVar[str] = "slurm-side"


@dataclass(frozen=True)
class ReadRefusals:
    """Read the events of a workload that has no pods: a quota or an admission refusal stands there."""

    uid: str
    attempt: int
    lane: ClassVar[str] = "events"
    what: ClassVar[str] = "events"


@dataclass(frozen=True)
class FollowEvents:
    """Look now and then at the events of a pod that is bound and does not start: only they tell of volumes, networks
    and long pulls."""

    rank: int
    uid: str
    lane: ClassVar[str] = "pod-events"


@dataclass(frozen=True)
class FollowLog:
    """Keep the output of one rank from the container's start on."""

    rank: int
    pod: str
    uid: str
    lane: ClassVar[str] = "log"


@dataclass(frozen=True)
class Report:
    """Put the sentence behind the user's own comment."""

    sentence: str
    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "report"


@dataclass(frozen=True)
class TellProgress:
    """Put behind the user's own comment what the prolog waits for; whether that can be done or not."""

    sentence: str
    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "progress"


@dataclass(frozen=True)
class CancelJob:
    """End the job."""

    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "cancel"


@dataclass(frozen=True)
class ExtendLimit:
    """Give the job back the minutes that its prolog took; ``minutes`` is its whole time limit then."""

    job_id: int
    minutes: int
    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "extend"


@dataclass(frozen=True)
class DrainNode:
    """Take this node out of service in Slurm with a reason of ours; slurmd would only say `Prolog error`."""

    reason: str
    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "drain"


@dataclass(frozen=True)
class ResumeNode:
    """Take this node back into service, if it still is out of it for just this reason of ours."""

    reason: str
    attempt: int
    lane: ClassVar[str] = "slurm"
    what: ClassVar[str] = "resume"


@dataclass(frozen=True)
class DeleteWorkload:
    """Delete the workload, Foreground, with its uid; without one, whatever bears the name and is of this run."""

    name: str
    uid: str
    attempt: int
    lane: ClassVar[str] = "workload"
    what: ClassVar[str] = "delete"


@dataclass(frozen=True)
class DeletePod:
    """Delete this node's own pod, with its uid."""

    pod: str
    uid: str
    attempt: int
    lane: ClassVar[str] = "pod"
    what: ClassVar[str] = "delete-pod"


@dataclass(frozen=True)
class SweepJob:
    """All we have is a job id: delete the job's workloads that name this node, but for those of runs that go on
    here, and look for its pods on this node."""

    job_id: int
    attempt: int
    lane: ClassVar[str] = "pod"
    what: ClassVar[str] = "prove"


@dataclass(frozen=True)
class ProveGone:
    """List what is on this node, consistently, and read our own ``pod`` by name, '' where it is proven gone already."""

    name: str
    pod: str
    node: str
    attempt: int
    lane: ClassVar[str] = "pod"
    what: ClassVar[str] = "prove"


@dataclass(frozen=True)
class ScanNode:
    """Have a waiting hook, which is root, look for processes of these pods and holders of the device files."""

    uids: tuple[str, ...]
    attempt: int
    lane: ClassVar[str] = "scan"
    what: ClassVar[str] = "scan"


Retried = (
    ProveNode
    | LookAtNode
    | CountNodeFaults
    | LearnJob
    | CreateWorkload
    | LookForWorkload
    | OpenGate
    | ReadRefusals
    | TellShare
    | Report
    | TellProgress
    | CancelJob
    | ExtendLimit
    | DrainNode
    | ResumeNode
    | DeleteWorkload
    | DeletePod
    | SweepJob
    | ProveGone
)
Endless = PollJob | WatchWorkload | WatchPods | FollowEvents | FollowLog
Activity = Retried | Endless | TellSlurmSide | ScanNode
