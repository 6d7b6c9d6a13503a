"""Every name that somebody outside this package relies on: labels, paths, sockets, exit codes.

The hook imports this file too: plain constants, no imports, Python 3.6 syntax.
"""

PREFIX = "slurm-k8s-bridge/"

# Labels and annotations of a workload and of its pods.
LABEL_MANAGED = PREFIX + "managed"  # "true" on everything that the bridge made
LABEL_TAG = PREFIX + "tag"  # the Slurm cluster's tag (bridge.toml), unique per Kubernetes
LABEL_JOB = PREFIX + "job"  # Slurm job id, decimal
LABEL_RUN = PREFIX + "run"  # workload name: one per run
ANNOTATION_NODES = PREFIX + "nodes"  # Kubernetes node names in rank order, comma separated
ANNOTATION_NODE_RANK = PREFIX + "node-rank"  # rank of this pod's node; written when its gate is opened
ANNOTATION_START = PREFIX + "start"  # start of the run, epoch seconds: job ids come back, starts do not
ANNOTATION_PROFILE = PREFIX + "profile"  # in a spec the profile that its user picks, on a workload the one it runs by
ANNOTATION_SPEC_HASH = PREFIX + "spec-hash"  # sha256 of the rendered object without this annotation

REASON_NODE_FAULT = "SlurmNodeFault"  # of the event by which a node tells the others of a fault of its own
REASON_SHARE = "SlurmGaveSomeGpus"  # of the event by which a node says why it opens no gate for a pod
REASON_UNNAMED = "SlurmNamedNoGpus"  # the same
REASON_GIVEN_UP = "SlurmJobGivenUp"  # of an event of the PyTorchJob: its pods have not all started
REASON_STOPPED = "SlurmJobStopped"  # the same: Slurm has ended the job, by scancel, time limit or preemption
REASON_FAILED = "SlurmJobFailed"  # the same: its training has failed
EVENT_SOURCE = "slurm-k8s-bridge"

GATE = PREFIX + "node"  # scheduling gate that only the daemon of the pod's own node opens
TAINT = PREFIX + "slurm"  # NoSchedule taint of every node that Slurm owns

ACCOUNTS = "slurm-k8s-bridge"  # namespace with one ServiceAccount for each enrolled node, of the Node's name
LABEL_ENROLLED = PREFIX + "enrolled"  # on these accounts: "nodes", or the tenant that they are for
LABEL_BINDS = PREFIX + "binds"  # on the bindings of which they are the subjects: the same, or "all"

# The operator's own labels (training-operator v1).
OPERATOR_LABEL_JOB = "training.kubeflow.org/job-name"
OPERATOR_LABEL_INDEX = "training.kubeflow.org/replica-index"
CONTAINER = "pytorch"  # name of the training container; its exit code is the job's

RENDEZVOUS_VARIABLES = frozenset(
    (
        "MASTER_ADDR",
        "MASTER_PORT",
        "RANK",
        "WORLD_SIZE",
        "PET_MASTER_ADDR",
        "PET_MASTER_PORT",
        "PET_NNODES",
        "PET_NODE_RANK",
    )
)  # torch's own names: the bridge sets them, whatever a spec says

# Files and sockets.
CONFIG_FILE = "/etc/slurm-k8s-bridge/bridge.toml"
STATE_DIR = "/var/lib/slurm-k8s-bridge"
JOURNAL_DIR = "/var/lib/slurm-k8s-bridge/journal"
KUBECONFIG = "/var/lib/slurm-k8s-bridge/credential/kubeconfig"  # renewed in place; its folder is the daemon's
MARKER_DIR = "/var/lib/slurm-k8s-bridge/runs"
HOOK_SOCKET = "/run/slurm-k8s-bridge/hook.sock"
USER_SOCKET = "/run/slurm-k8s-bridge/user.sock"

# How a job asks for the bridge: a word of --extra or --comment, separated by white space or a comma.
TOKEN = "k8s="
# Between the user's own comment and the bridge's sentence.
COMMENT_MARK = "k8s: "
COMMENT_JOINT = " | "
COMMENT_LIMIT = 1024  # bytes; Slurm cuts longer ones at submit (slurm.conf(5))

TIMELINE_SUFFIX = ".k8s.json"  # of the file beside the job's output that says how its last run went
TIMELINE_VERSION = 1  # new fields do not raise it

SPEC_LIMIT = 1024 * 1024  # bytes of a spec file

# Of the sockets; the first frame carries it. New optional fields do not raise it, since unknown ones are left out.
# Whoever raises it keeps the number before it understood: an upgrade replaces hook, daemon and bridgectl at
# different moments. See docs/how-to/upgrade.md.
PROTOCOL = 1
OLDEST_PROTOCOL = 1

EXIT_INFRASTRUCTURE = 75  # `bridgectl attach`: a fault of the infrastructure (EX_TEMPFAIL)
EXIT_TERMINATED = 143  # the same, ended by SIGTERM: 128 + 15, as a shell shows it
EXIT_USAGE = 64  # `bridgectl`: used in the wrong way or place (EX_USAGE)

METRIC = "slurm_k8s_bridge"  # what the names of all metrics begin with
METRICS_FILE = "slurm-k8s-bridge.prom"  # in the directory of node exporter's textfile collector
