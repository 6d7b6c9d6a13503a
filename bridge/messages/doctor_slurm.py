"""What `bridgectl doctor` finds in slurm.conf and at slurmrestd."""

from bridge.messages import Message
from bridge.messages.doctor import NOTHING_KNOWN

SLURM_CONF_UNREAD = Message(
    "slurm-conf-unread", "`scontrol show config` names no ClusterName", NOTHING_KNOWN, "run it by hand, and see why"
)
CLUSTER_OTHER = Message(
    "cluster-other",
    "Slurm's ClusterName is {slurm}, and cluster.name of bridge.toml {own}",
    "runs of two clusters may be taken for one another",
    "write Slurm's name into bridge.toml",
)
PROLOG_FLAG_MISSING = Message(
    "prolog-flag-missing",
    "PrologFlags of slurm.conf lacks {flag}",
    "scripts start before the pods of all nodes are ready",
    "PrologFlags=Alloc,DeferBatch, then `scontrol reconfigure`",
)
PROLOG_FLAG_BAD = Message(
    "prolog-flag-bad",
    "PrologFlags of slurm.conf has {flag}",
    "prologs and epilogs run at another moment, or one behind the other, and wait for one another",
    "take {flag} out, then `scontrol reconfigure`",
)
HOLDS_ON_PROLOG_FAIL = Message(
    "holds-on-prolog-fail",
    "SchedulerParameters of slurm.conf lacks {word}",
    "a node's fault holds the job instead of starting it elsewhere",
    "add {word}, then `scontrol reconfigure`",
)
JWT_MISSING = Message(
    "jwt-missing",
    "AuthAltTypes of slurm.conf lacks auth/jwt",
    "no token is made, so nothing is told to Slurm (tier none)",
    "AuthAltTypes=auth/jwt with a key, then start slurmctld anew",
)
CRED_EXPIRE_LONG = Message(
    "cred-expire-long",
    "credentials live {seconds} s (cred_expire of AuthInfo)",
    "a job that goes back into the queue waits so long",
    "AuthInfo=cred_expire=30, on all machines, then start Slurm anew",
)
PROLOG_TIMEOUT_SHORT = Message(
    "prolog-timeout-short",
    "Slurm ends a prolog after {seconds} s, and timing.prolog_deadline needs {due}",
    "slurmd kills prologs that still wait, and drains their nodes",
    "raise PrologTimeout (PrologEpilogTimeout), or lower timing.prolog_deadline",
)
BATCH_START_SHORT = Message(
    "batch-start-short",
    "BatchStartTimeout is {seconds} s, less than the {due} that a prolog may take",
    "slurmctld takes the job for missing, and requeues it while its prolog still waits",
    "raise BatchStartTimeout to that",
)
EPILOG_TIMEOUT_SHORT = Message(
    "epilog-timeout-short",
    "Slurm ends an epilog after {seconds} s, and timing.epilog_deadline needs {due}",
    "slurmd kills epilogs that wait for a proof, and drains their nodes without its reason",
    "raise EpilogTimeout (PrologEpilogTimeout), or lower timing.epilog_deadline",
)
EPILOG_DEADLINE_SHORT = Message(
    "epilog-deadline-short",
    "timing.epilog_deadline is {seconds} s, and the grace that pods may have needs {due}",
    "nodes are drained while their pods still end as they may",
    "raise timing.epilog_deadline, or lower pod.grace_seconds",
)
KILL_WAIT_SHORT = Message(
    "kill-wait-short",
    "KillWait of slurm.conf is {seconds} s, less than {due}",
    "the last lines of a training that is ended are lost",
    "KillWait={due}, then `scontrol reconfigure`",
)
TOKEN_UNMINTED = Message(
    "token-unminted",
    "no token could be made here as the hooks do: {why}",
    "hooks bring no token of their jobs' owners, so nothing is told to Slurm",
    "see that scontrol is there and auth/jwt is set; or choose tier service",
)
SLURMRESTD_REFUSES = Message(
    "slurmrestd-refuses",
    "slurmrestd at {url} does not answer about this node: {why}",
    "jobs run, but nothing is told to Slurm; a job that is cancelled while its prolog waits is not noticed",
    "mend what it says; see slurmrestd's own log",
)
SERVICE_TOKEN_BAD = Message(
    "service-token-bad",
    "the token of tier {tier} does not serve: {why}",
    "the bridge acts with each job owner's rights alone",
    "write a new one: scontrol token username=NAME lifespan=SECONDS, mode 0600, owner slurm-k8s-bridge",
)
SERVICE_USER_LOW = Message(
    "service-user-low",
    "{user} has the admin level {level} in Slurm's accounting, too low for tier {tier}",
    "what the tier gives beyond the owner's rights is refused",
    "sacctmgr modify user {user} set adminlevel=Operator (service) or Administrator",
)
LEVEL_UNKNOWN = Message(
    "level-unknown", "what {user} may do in Slurm is not known", NOTHING_KNOWN, "see `sacctmgr show user {user}`"
)
