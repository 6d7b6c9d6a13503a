"""What the node's daemon itself has to say: why it does not start, and what it answers to bridgectl and to hooks."""

from bridge.messages import Message

# -- why it does not start, or goes on with less

_NO_START = "bridged does not start; hooks wait, and the node's runs stay as they are"
_NO_SERVICE = "the bridge acts with each job owner's rights alone until the file is good"
_CHECK = "; `bridged --check-config` says when it is good"

CONFIG_UNREADABLE = Message(
    "config-unreadable",
    "{path}: cannot be read ({why})",
    _NO_START,
    "write it as README.md of slurm-k8s-bridge shows" + _CHECK,
)
CONFIG_NOT_TOML = Message(
    "config-not-toml",
    "{path}: is not TOML: {why}",
    _NO_START,
    "mend that line" + _CHECK,
)
CONFIG_INVALID = Message(
    "config-invalid",
    "{path}: {faults}",
    _NO_START,
    "correct these keys" + _CHECK,
)
UNKNOWN_KEY = "unknown key, remove it"

KUBECONFIG_UNUSABLE = Message(
    "kubeconfig-unusable",
    "{path}: cannot be used as a kubeconfig: {why}",
    "bridged goes on with what it has read of it before, until that expires; without that, prologs and epilogs wait",
    "make it anew with `bridgectl node enroll`, mode 0600, owner slurm-k8s-bridge",
)
CLOCK_OFF = Message(
    "clock-off",
    "the clock of this node is {difference} the API server's",
    "certificates and tokens are judged by it: before long neither Kubernetes nor Slurm takes this node's word",
    "set it, and see why it was not set by itself: timedatectl, chronyc tracking",
)
CREDENTIAL_ENDS = Message(
    "credential-ends",
    "the {kind} by which this node speaks to the API server ends at {ends}, and has not been renewed",
    "from then on prologs and epilogs wait, and jobs that come here go back into the queue",
    "`journalctl -u slurm-k8s-bridge-renew` says why; `bridgectl node enroll` makes another",
)
KUBECONFIG_FOREIGN = Message(
    "kubeconfig-foreign",
    "{path}: names the API server {server}, and this node's own kubeconfig {own}",
    "bridged does not start, or goes on with the file as it was: what is gone there may be alive here",
    "write the same address in both, to the letter",
)
CA_UNUSABLE = Message(
    "ca-unusable",
    "{path}: cannot be used as slurmrest.ca_file: {why}",
    _NO_START,
    "put the PEM bundle of slurmrestd's CA there, or correct slurmrest.ca_file",
)
SERVICE_TOKEN_UNREADABLE = Message(
    "service-token-unreadable",
    "{path}: cannot be read as slurmrest.service_token_file ({why})",
    _NO_SERVICE,
    "see that it is a regular file of slurm-k8s-bridge, mode 0600",
)
SERVICE_TOKEN_OPEN = Message(
    "service-token-open",
    "{path}: others than its owner may read this token, so it is not used",
    _NO_SERVICE,
    "make a new one, mode 0600",
)
SERVICE_TOKEN_EMPTY = Message(
    "service-token-empty",
    "{path}: holds no token",
    _NO_SERVICE,
    "write there what `scontrol token` prints",
)
NO_SERVICE_TOKEN = Message(
    "no-service-token",
    "no administrator's token: [slurmrest] has no service_token_file any more",
    "the node's drain stays as it is",
    "see the node with scontrol show node, and resume it by hand",
)
JOURNAL_UNOPENED = Message(
    "journal-unopened",
    "{path}: the journal cannot be opened ({why})",
    _NO_START,
    "see that its directory belongs to slurm-k8s-bridge, and that its disk is neither full nor read-only",
)
JOURNAL_NEWER = Message(
    "journal-newer",
    "{path}: was written by a newer slurm-k8s-bridge (journal schema {found}, this version reads {known}); "
    "bridged does not start, hooks wait and the node's runs stay as they are",
    "not a byte of it is changed",
    "install the newer version again",
)
JOURNAL_UNREAD = Message(
    "journal-unread",
    "the journal has a line of run {run} that this version cannot read, so it was written by another one; "
    "bridged does not start, hooks wait and the node's runs stay as they are",
    "not a byte of it is changed",
    "install the version that ran here last: {why}",
)
METRICS_UNHEARD = Message(
    "metrics-unheard",
    "metrics.listen {address}: cannot be listened at ({why})",
    "nobody can ask this node for its metrics; jobs and everything else go on",
    "see with ss -ltnp, or with ls -ld of its directory, who is in the way; then systemctl restart slurm-k8s-bridge",
)
MARKER_UNREAD = Message(
    "marker-unread",
    "{path}: the run marker cannot be read ({why})",
    "whether a lost run goes on is not known, so nothing is done about it",
    "see that its directory belongs to root, mode 0755",
)

# -- to hooks

_SAME_PACKAGE = "install the package again on this node, then systemctl restart slurm-k8s-bridge"

PROTOCOL_UNLIKE = Message(
    "protocol-unlike",
    "bridged {version} speaks protocol {known} and none before {oldest}, the {peer} {told}: {older} is the older one",
    "a hook and an attach ask again for two minutes, since an upgrade may be under way; others get no answer",
    _SAME_PACKAGE,
)
HOOK_UNLIKE = Message(
    "hook-unlike",
    "bridged {version} does not understand this hook's question",
    "the hook asks again for two minutes, since an upgrade may be under way; then it ends as without a daemon",
    _SAME_PACKAGE,
)
NODE_CROWDED = Message(
    "node-crowded",
    "this node's bridged has {limit} runs already",
    "the job gets no pods, and its script ends at `bridgectl attach`; the node stays in service",
    "submit again later",
)
EPILOG_UNPROVEN = Message(
    "epilog-unproven",
    "{run} is not proven gone from this node after {seconds} s: {obstacle}",
    "the epilog fails, and Slurm takes this node out of service: what is left may hold its GPUs",
    "{cure}",
)

SHARE_OF_GPUS = Message(
    "share-of-gpus",
    "Slurm gave {given} of the {there} GPUs of {node}, but a pod cannot be held to some of them",
    "this node opens no gate, so the pod does not start, and the batch node ends the wait with this reason",
    "submit to nodes that have as many GPUs as --gpus-per-node asks for",
)

GPUS_UNNAMED = Message(
    "gpus-not-named",
    "Slurm gave GPUs of {node} and named none of them to its prolog (SLURM_JOB_GPUS is missing)",
    "no pod starts there, since nobody would know whose its GPUs are",
    "none for once: a slurmctld that has just begun does so for some seconds, and the job is requeued; "
    "where it comes again, give each GPU its File= in gres.conf",
)

# Words that stand in the place of a row's {message}, or behind its sentence.
UNSCANNED = "no hook has scanned the node yet"
PODS_STAY = "Kubernetes still shows its pods here"
WORKLOAD_STAYS = "its workload is not deleted yet"
GAVE_UP = "the prolog gave up, verdict {verdict}: {sentence}"
ENDED_IN_PROLOG = "it ended while its prolog waited"
KUBELET_UNREADY = ", and the kubelet of {node} is not Ready ({why})"
HELD_UNTIL_MENDED = "{lead}, held: {sentence}; when it is mended: {release}"
UNSHARED_UNKNOWN = "whether it is this node alone could not be found out, so it stays in service"
SHARED_BY_OTHERS = (
    "{others} other nodes met such a fault a moment ago, so it is taken for one that all share, and the node stays in "
    "service"
)

# -- to bridgectl

NO_SLURMREST = "bridge.toml has no section [slurmrest]"
RANK_GONE = "the pod of rank {rank} is gone"

_UNANSWERED = "the question stays without an answer; the job is not touched"

CONNECTIONS_FULL = Message(
    "connections-full",
    "too many connections are open on this node's bridged",
    "this one is closed; attach and hooks come again by themselves",
    "end some, or try again later",
)
QUESTION_UNLIKE = Message(
    "question-unlike",
    "the question is not understood",
    _UNANSWERED,
    "use bridgectl of the daemon's version",
)
NO_RUN_HERE = Message(
    "no-run-here",
    "job {job} has no run of yours on this node",
    _UNANSWERED,
    "ask as its owner or root, on one of its nodes",
)
NO_SUCH_RANK = Message(
    "no-such-rank",
    "job {job} has the ranks 0 to {last}, and no rank {rank}",
    _UNANSWERED,
    "give --rank one of these",
)
TOO_MANY_RANKS = Message(
    "too-many-ranks",
    "{ranks} ranks of job {job} would have to be followed, and a node follows at most {most} of a job",
    _UNANSWERED,
    "name with --rank those that you want, and have the others write to files",
)
RANK_UNREAD = Message(
    "rank-unread",
    "the output of rank {rank} cannot be read: {why}",
    "nothing is shown; the training is not touched",
    "try again",
)
GC_ROOT_ONLY = Message(
    "gc-root-only",
    "gc shows and deletes everybody's workloads",
    "nothing is shown and nothing deleted",
    "run it as root",
)
GC_UNKNOWN = Message(
    "gc-unknown",
    "the workloads of this node are not known, so nothing was deleted: {why}",
    "what is left of runs stays, and is looked for again within minutes",
    "see `bridgectl status` for how the API server answers, and try again",
)
ATTACH_WITHOUT_JOB = Message(
    "attach-without-job",
    "attach needs the number of a job",
    _UNANSWERED,
    "call it in a batch script",
)
NO_BRIDGE_JOB = Message(
    "no-bridge-job",
    "job {job} is no bridge job: no word k8s=FILE was found in its --comment or --extra when it started",
    "nothing has been run; the script ends with 75",
    "correct the #SBATCH line and submit again",
)
LET_GO = Message(
    "let-go",
    "job {job} was let go without pods: {why}",
    "nothing has been run; the script ends with 75",
    "then submit the job again",
)
