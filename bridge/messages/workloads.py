"""What bridged says of the workloads on its node: to an `attach` whose run it has lost, and to `bridgectl gc`."""

from bridge.messages import Message

_ATTACH_WAITS = "attach waits, and looks again; the training goes on meanwhile"

# -- to an attach whose run the daemon has lost

_LOST = "bridged on this node has lost its memory of job {job}"

NOT_OURS = "it is not as the bridge makes them"
ANOTHERS_JOB = "slurmctld shows another user's job under its number"

RUN_RELEARNT = Message(
    "run-relearnt",
    "the run is being learnt again",
    _ATTACH_WAITS,
    "nothing is to be done",
)
RUN_UNSEEN = Message(
    "run-unseen",
    _LOST + ", and cannot look for it in Kubernetes yet: {why}",
    _ATTACH_WAITS,
    "see `bridgectl status` there for how the API server answers",
)
RUN_UNPROVEN = Message(
    "run-unproven",
    _LOST + "; its workload {workload} goes on, but {why}",
    _ATTACH_WAITS,
    "see that slurmctld answers, or have root look at `bridgectl gc --dry-run` there",
)
RUN_ENDING = Message(
    "run-ending",
    "{workload} is no more: {why}",
    _ATTACH_WAITS,
    "submit the job again if it was not meant to end",
)
RUN_LOST = Message(
    "run-lost",
    _LOST + ", and Kubernetes has no workload of it (any more)",
    "the script ends with 75, and the job with it",
    "submit the job again",
)

# -- what a workload is, seen from its batch node: `bridgectl gc`

_STAYS = "it stays"
_DELETED = "it is deleted when it has been seen so for timing.orphan_grace, at once by `bridgectl gc`"
_LEFT_ALONE = "it stays until a person has decided"
_NOTHING = "nothing is to be done"
_DECIDE = "unless `scontrol show job {job}` shows a job with {run} that is not over: {delete}"
_UNKNOWN_RUN = "this node's journal does not know its run, and "

STARTED_ANEW = "its job has been started anew since (Restarts={restarts})"
JOB_IS_OVER = "its job is over ({why})"
ELSEWHERE = "its job's number belongs to a job on other nodes now"
NOTHING_LEFT = "its job's time is over, and Kubernetes has nothing of it"

LIVE_HERE = Message("live-here", "its run is not over on this node", _STAYS, _NOTHING)
LIVE_IN_SLURM = Message(
    "live-in-slurm",
    "slurmctld says that its run is not over; this node's journal has lost it",
    _STAYS,
    "nothing is to be done: it is adopted where its marker is there",
)
BEING_DELETED = Message(
    "being-deleted",
    "it was deleted, and goes when the last of its pods has gone",
    "it goes by itself",
    "if it does not, look at the node of its last pod",
)
ORPHAN_RELEASED = Message("orphan-released", "this node's journal says that its run was released", _DELETED, _NOTHING)
ORPHAN_OLDER = Message("orphan-older", "this node knows a later run of its job, {later}", _DELETED, _NOTHING)
ORPHAN_FORGOTTEN = Message("orphan-forgotten", "slurmctld does not know its job any more", _DELETED, _NOTHING)
ORPHAN_OVER = Message("orphan-over", "slurmctld says that {why}", _DELETED, _NOTHING)
STRANGER = Message(
    "stranger",
    "it has the bridge's labels, but the bridge made no such object",
    _LEFT_ALONE,
    "ask who made it, or delete it: {delete}",
)
UNASKED = Message(
    "unasked",
    _UNKNOWN_RUN + "slurmctld cannot be asked about it without a service token (slurmrest.tier)",
    _LEFT_ALONE,
    _DECIDE,
)
UNANSWERED = Message("unanswered", _UNKNOWN_RUN + "slurmctld could not be asked about it: {why}", _LEFT_ALONE, _DECIDE)
ANOTHER_START = Message(
    "another-start", _UNKNOWN_RUN + "slurmctld shows its job with another start", _LEFT_ALONE, _DECIDE
)

# -- what the reconciler could not do

PODS_UNKNOWN = Message(
    "pods-unknown",
    "the pods of this node in the namespace {namespace} are not known: {why}",
    "pods of released runs are not looked for there this time",
    "see `bridgectl status` for how the API server answers",
)
NAMESPACE_UNKNOWN = Message(
    "namespace-unknown",
    "the workloads in the namespace {namespace} are not known: {why}",
    "nothing is deleted or adopted there this time; the other namespaces are looked after",
    "see `bridgectl status` for how the API server answers, and the kubeconfig of that namespace in bridge.toml",
)
ORPHAN_STAYS = Message(
    "orphan-stays",
    "{workload} could not be deleted: {why}",
    "it stays, and is tried again at the next look",
    "see whether the API server answers, and what its audit log says of the refusal",
)
