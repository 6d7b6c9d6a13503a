"""Rows of the job itself, its hooks, its workload, and of this node."""

from bridge.job.faults.row import ALWAYS, EPILOG, RUNNING, STARTED, Fault, Moment, Subject, Verdict

# -- the job, as its owner wrote it

SPEC_REFUSED = Fault(
    "spec-refused",
    Subject.JOB,
    Verdict.JOB,
    "{message}",
    "",
    "the table of treatments: every violation of the spec file with its path and cure",
    advice="change in the spec what each sentence names, and submit again",
)
SPEC_BROKEN = Fault(
    "spec-broken",
    Subject.JOB,
    Verdict.JOB,
    "the spec cannot be rendered ({message})",
    "make it simpler, and tell the site",
    "the renderer failed in a way that nobody foresaw",
)
SPEC_UNREADABLE = Fault(
    "spec-unreadable",
    Subject.HOOK,
    Verdict.JOB,
    "{message}",
    "",
    "the batch node's hook, which reads the file as the job's user: missing, not readable, no regular file, too large",
    advice="put a readable file of at most 1 MiB where the word k8s= says, and submit again",
)
SPEC_WORD = Fault(
    "spec-word",
    Subject.JOB,
    Verdict.JOB,
    "{message}",
    "",
    "the word k8s= in --comment or --extra names no file, or several",
    advice="write one word k8s=FILE into --comment or --extra, and submit again",
)
HET_JOB = Fault(
    "het-job",
    Subject.JOB,
    Verdict.JOB,
    "a heterogeneous job cannot use the bridge",
    "submit one job with equal nodes instead",
    "SLURM_HET_JOB_ID in the hook's environment",
)
SALLOC = Fault(
    "salloc",
    Subject.JOB,
    Verdict.JOB,
    "salloc and srun cannot use the bridge",
    "take k8s= out of --comment and --extra, or submit with sbatch",
    "slurmctld: batch_flag of the job is not set",
)
ALLOCATION_UNFIT = Fault(
    "allocation-unfit",
    Subject.JOB,
    Verdict.JOB,
    "{message}",
    "",
    "Slurm gave some of a node's GPUs, or unequal numbers, or nobody says how many",
    advice="ask for whole nodes or the same GPUs on each (--exclusive, --gpus-per-node), and submit again",
)
GPUS_UNNAMED = Fault(
    "gpus-unnamed",
    Subject.JOB,
    Verdict.SHARED,
    "{message}",
    "",
    "slurmctld counts GPUs for the job, or its pod asks for some, on a node whose hook has no SLURM_JOB_GPUS (24.11)",
    advice="none for once, slurmctld has just begun; where it comes again, give each GPU its File= in gres.conf",
)
JOB_OVER = Fault(
    "job-over",
    Subject.JOB,
    Verdict.GONE,
    "the job is over ({message})",
    "",
    "slurmctld: an ended state, or a higher restart count, while the prolog waits",
    advice="nothing is left to do; submit it again if it was not meant to end",
)

# -- hooks

HOOK_LEFT = Fault(
    "hook-left",
    Subject.HOOK,
    Verdict.GONE,
    "the prolog hook ended before its answer",
    "",
    "the hook's connection broke, and it did not come back within 10 s",
    advice="see slurmd's log for who killed the hook: PrologTimeout of slurm.conf, or a stop of slurmd",
)
HOOK_AWAY = Fault(
    "hook-away",
    Subject.HOOK,
    Verdict.SHARED,
    "the prolog hook stood still for longer than 10 s, so what was made for the job was deleted",
    "where that comes again, tell the site's administrator",
    "hook-left, and then the hook of the batch node asked again",
    advice="where it comes again, look for what stops processes on that node: memory, a disk, a debugger",
)
DAEMON_SILENT = Fault(
    "daemon-silent",
    Subject.HOOK,
    Verdict.NODE,
    "bridged did not answer ({message})",
    "see `systemctl status slurm-k8s-bridge` and `journalctl -u slurm-k8s-bridge`, then resume the node",
    "the hook itself: no connection to hook.sock, or no verdict in the daemon's own time",
    phases=(Moment.PROLOG, Moment.EPILOG),
)
HOOK_MISMATCH = Fault(
    "hook-mismatch",
    Subject.HOOK,
    Verdict.RETRY,
    "{message}",
    "",
    "the hook's first frame: a protocol that the daemon does not speak, while an upgrade is under way or half done",
    None,
    (Moment.PROLOG, Moment.EPILOG),
    advice="install the same package anew on this node, then systemctl restart slurm-k8s-bridge",
)
ENVIRONMENT = Fault(
    "environment",
    Subject.HOOK,
    Verdict.SHARED,
    "{message}",
    "",
    "slurmd's environment of the hook lacks something, or contradicts itself",
    advice="see on this node whether slurmd runs the hook itself, as Prolog= of slurm.conf",
)

# -- this node

NODE_UNKNOWN = Fault(
    "node-unknown",
    Subject.NODE,
    Verdict.NODE,
    "Kubernetes has no Node {node} for this machine",
    "join it to the cluster, or correct cluster.node_name in bridge.toml",
    "API server: a clear 404 of the Node, for twice timing.node_patience",
    30.0,
    timing="node_patience",
)
NODE_FOREIGN = Fault(
    "node-foreign",
    Subject.NODE,
    Verdict.NODE,
    "the Node {node} is another machine than this one (bootID differs)",
    "correct cluster.node_name in bridge.toml, or restart the kubelet",
    "Node.status.nodeInfo.bootID is not this kernel's, for twice timing.node_patience",
    30.0,
    timing="node_patience",
)
GPUS_MISSING = Fault(
    "gpus-missing",
    Subject.NODE,
    Verdict.RETRY,
    "Kubernetes shows {message} on {node}",
    "look at the device plugin",
    "Node.status.allocatable has fewer GPUs than Slurm gave; the device plugin registers seconds after the kubelet",
    None,
)
EARLIER_RUN = Fault(
    "earlier-run",
    Subject.LOCAL_NODE,
    Verdict.NODE,
    "an earlier run ({message}) is not proven gone from this node and may hold its GPUs",
    "see bridgectl show {job}, end what is left, then resume the node",
    "journal and markers: a release without proof, until the prolog's deadline",
    None,
)
LEFTOVERS = Fault(
    "leftovers",
    Subject.LOCAL_NODE,
    Verdict.RETRY,
    "still alive: {message}",
    "end them, then resume the node",
    "the hook's scan: a process in a pod's cgroup, or one that holds an allocated device file",
    None,
    EPILOG,
)
PODS_REMAIN = Fault(
    "pods-remain",
    Subject.LOCAL_NODE,
    Verdict.RETRY,
    "{message}",
    "look at kubelet and API server, then resume the node",
    "a consistent list still shows pods of the run on this node, or could not be had",
    None,
    EPILOG,
)
NOT_SCANNED = Fault(
    "not-scanned",
    Subject.LOCAL_NODE,
    Verdict.RETRY,
    "{message}",
    "look at the hook's log, then resume the node",
    "the hook's scan failed, or no hook was there to make it",
    None,
    EPILOG,
)
BRIDGE_BUG = Fault(
    "bridge-bug",
    Subject.LOCAL_NODE,
    Verdict.SHARED,
    "a fault of the bridge itself in {message}, see its log",
    "report it",
    "an activity ended with an exception that is none of the bridge's own",
    None,
    ALWAYS,
    Verdict.RETRY,
)

# -- the workload

OPERATOR_SILENT = Fault(
    "operator-silent",
    Subject.WORKLOAD,
    Verdict.SHARED,
    "the training-operator has made {message}",
    "tell the site's administrator",
    "the workload is there, its pods are not, and no event says why",
    None,
)
PREDECESSOR = Fault(
    "predecessor",
    Subject.WORKLOAD,
    Verdict.RETRY,
    "the workload {message} of an earlier run is still there",
    "it is being deleted; the bridge waits for it",
    "API server: 409 for our name, and the object is of another start or is being deleted",
    None,
)
NAME_TAKEN = Fault(
    "name-taken",
    Subject.WORKLOAD,
    Verdict.SHARED,
    "the name {message} is taken by an object that is not the bridge's",
    "the site deletes it, or changes cluster.tag",
    "API server: 409 for our name, and the object has not our label",
    None,
)
WORKLOAD_DELETED = Fault(
    "workload-deleted",
    Subject.WORKLOAD,
    Verdict.SHARED,
    "the workload was deleted {message}, not by this node's bridge",
    "submit again",
    "watch: the workload is gone or being deleted, not by this node's bridge",
    phases=STARTED,
)
DEADLINE = Fault(
    "deadline",
    Subject.WORKLOAD,
    Verdict.SHARED,
    "the workload could not be created",
    "tell the site's administrator",
    "the prolog's own deadline, and nothing that was tried has failed",
    None,
)
ENDED_BY_SLURM = Fault(
    "ended-by-slurm",
    Subject.JOB,
    Verdict.GONE,
    "Slurm ended the job while its training ran: {message}",
    "",
    "SIGTERM came to bridgectl attach, or the epilog before the training's end: scancel, time limit, preemption, "
    "requeue",
    phases=RUNNING,
    advice="nothing if it was meant to end; else see sacct for who ended it, and submit it again, with a longer --time "
    "where that was too short",
)
ENDED_UNHEARD = "scancel, time limit or preemption"  # of ENDED_BY_SLURM, where slurmctld was not asked
SIGTERM_ALONE = "SIGTERM (scancel --batch, or --signal)"  # the same, while slurmctld goes on with the job

ROWS = (
    SPEC_REFUSED,
    SPEC_BROKEN,
    SPEC_UNREADABLE,
    SPEC_WORD,
    HET_JOB,
    SALLOC,
    ALLOCATION_UNFIT,
    GPUS_UNNAMED,
    JOB_OVER,
    ENDED_BY_SLURM,
    HOOK_LEFT,
    HOOK_AWAY,
    DAEMON_SILENT,
    HOOK_MISMATCH,
    ENVIRONMENT,
    NODE_UNKNOWN,
    NODE_FOREIGN,
    GPUS_MISSING,
    EARLIER_RUN,
    LEFTOVERS,
    PODS_REMAIN,
    NOT_SCANNED,
    BRIDGE_BUG,
    OPERATOR_SILENT,
    PREDECESSOR,
    NAME_TAKEN,
    WORKLOAD_DELETED,
    DEADLINE,
)
