"""What the prolog and epilog hooks say. Python 3.6 syntax; only the catalogue itself is imported.

slurmd logs a hook's word when it ends with 1. The plain texts below the messages are words that stand in one of them,
or in a sentence of the daemon's: what the hook cannot read or scan is judged there, by the rows spec-unreadable,
leftovers and not-scanned of the fault table.
"""

from bridge.messages import Message

_FAILS = "the hook ends with 1: Slurm takes this node out of service, and requeues a job whose prolog this was"
_LOOK = "see `systemctl status slurm-k8s-bridge` and `journalctl -u slurm-k8s-bridge`"

DAEMON_SILENT = Message("daemon-silent", "bridged did not answer for {seconds:.0f} s ({why})", _FAILS, _LOOK)
DAEMON_UNDECIDED = Message("daemon-undecided", "bridged came to no verdict in its own time", _FAILS, _LOOK)
NODE_AT_FAULT = Message("node-at-fault", "bridged says that this node is at fault", _FAILS, _LOOK)
EARLIER_UNASKED = Message(
    "earlier-unasked",
    "{why}; runs of job {jobs} have not proven that they left this node and may still hold its GPUs",
    "a job that was given GPUs here does not start: Slurm takes this node out of service and requeues it",
    _LOOK,
)
MARKER_UNWRITTEN = Message(
    "marker-unwritten",
    "cannot write the run marker {directory}/{job}: {why}",
    _FAILS,
    "see that this disk is neither full nor read-only",
)
MARKERS_UNREAD = Message(
    "markers-unread",
    "cannot read the run markers in {directory}: {why}",
    _FAILS,
    "see that root may list this directory",
)
MARKERS_OPEN = Message(
    "markers-open",
    "{directory} must belong to root and be writable by root alone",
    _FAILS,
    "chown root:root it and chmod 0755",
)
MARKER_UNREMOVED = Message(
    "marker-unremoved",
    "cannot remove the run marker {directory}/{job}: {why}",
    "every prolog here goes on asking whether that run is gone",
    "see that this disk is not read-only, then remove the file",
)
NO_JOB_ID = Message(
    "no-job-id",
    "slurmd gave no SLURM_JOB_ID",
    _FAILS,
    "see that slurmd itself runs this hook, as its Prolog= or Epilog= of slurm.conf",
)
NO_CONFIGURATION = Message(
    "no-configuration",
    "slurm-k8s-bridge is installed here and was never set up: {path} is not there, nor a socket, nor a marker of a run",
    "the job gets no pods, and `bridgectl attach` ends it with 75; the node stays in service",
    "write that file and `systemctl start slurm-k8s-bridge`, or keep jobs with k8s= off this node",
)
STOPPED = Message(
    "hook-stopped",
    "ended by SIGTERM (PrologTimeout or EpilogTimeout of slurm.conf, or slurmd's stop)",
    _FAILS,
    "where slurmd was not stopped, have timing.prolog_deadline and timing.epilog_deadline end before these",
)
HOOK_BUG = Message("hook-bug", "fault of the hook itself: {kind}: {why}", _FAILS, "report it")
NO_SCANNER = Message(
    "no-scanner",
    "nobody stays to scan this node: {why}",
    "the node stays out of service, though what is left of the run may end by itself",
    "end what is left (bridgectl show JOBID), then resume the node",
)
NOT_REQUEUED = Message(
    "not-requeued",
    "job {job} is not requeued: {why}",
    "its script starts, and `bridgectl attach` ends it with the reason",
    "submit it again, or as its owner: scontrol requeue {job}",
)
NO_TOKEN = Message(
    "no-token",
    "no Slurm token: {why}",
    "the job runs, but Slurm is told nothing about it, no comment and no cancel, until bridgectl attach brings one",
    "see that root may run `scontrol token` on this node, or give the bridge a token of the site's own "
    "(slurmrest.tier in bridge.toml)",
)
SPEC_TOO_LARGE_BESIDE = Message(
    "spec-too-large-beside",
    "{path} with the job's groups and nodes is too large ({why})",
    "the job is cancelled, or held where the site says so",
    "make the file smaller",
)

# -- before and behind every message of a hook that fails

WHERE = "{phase} of job {job} on {node}: "
RESUME = "; once it is mended: scontrol update nodename={node} state=resume"

# -- words of a daemon that is silent

CLOSED = "it closed the connection"
MUTE = "it accepts, but says nothing"

# -- why there is no token, or no requeue

SCONTROL_MISSING = "no scontrol beside slurmd nor in {directories}; install Slurm's client"
SCONTROL_SAID = "scontrol {verb} said: {said}"
SCONTROL_LATE = "scontrol {verb} took longer than {seconds} s; is slurmctld up?"
SCONTROL_UNRUN = "cannot run scontrol {verb}: {why}"
OWNER_UNKNOWN = "the job's owner is not known"
OWNER_MIGHTY = "the job's owner is not known, or may act for everybody"
OWNER_UNNAMED = "the owner's name {name} is not one that scontrol can be given"
JOB_UNNAMED = "{name} is not how scontrol names a job"

# -- why the spec cannot be read, each with its cure

SPEC_NO_PATH = "k8s= names no file; write k8s=PATH, the path of the spec file"
SPEC_UNREAD = "cannot read {path} as user {user}: "
SPEC_MISSING = "no such file; put it there, or correct k8s= (it counts from the job's working directory)"
SPEC_NO_DIRECTORY = "a part of the path is no directory; correct k8s="
SPEC_DENIED = "permission denied; let {user} read the file and enter every directory above it"
SPEC_LINKS = "too many symbolic links; name the file itself in k8s="
SPEC_NAME = "the name is too long; correct k8s="
SPEC_STALE = "stale NFS handle on this node; submit again, and tell the administrator"
SPEC_LATE = "took longer than {seconds} s on {node}; the file system may hang there, tell the administrator"
SPEC_DIED = "reading failed on {node} ({why}); submit again"
SPEC_TILDE = "~ is not expanded here; write the path from / on"
SPEC_NOBODY = "the hook cannot become this user ({why}); tell the administrator"
SPEC_OTHER = "{why}; see whether the file can be read on this node"
SPEC_KIND = "is {kind}; k8s= must name a regular file"
SPEC_LARGE = "larger than {mebibytes} MiB; k8s= must name the manifest, not data"

# -- what a scan found, or why it found nothing out

IN_POD = "is in pod {uid}"
HOLDS = "holds {path} as uid {uid}"
FROZEN = ", in state D: frozen, or hung in the kernel"
HALTED = ", in state T: stopped"
SCAN_LATE = "the scan of /proc took longer than {seconds} s"
SCAN_DIED = "the scan of /proc failed: {why}"
SCAN_UNLIKE = "the daemon asked for a scan in a way that this hook does not know"
SCAN_NO_UID = "{uid} is no pod uid"
SCAN_UNSEEN = "cannot look at {path}: {why}"
SCAN_UNLISTED = "cannot list {path}: {why}"
SCAN_UNREAD = "cannot read {path}: {why}"
SCAN_UNFIT = "{path}/status is not as it should be"
SCAN_BLIND = "{path} does not show process 1 (hidepid?), so what else it hides is not known"

# -- of a child that works as the job's user

CHILD_UNBORN = "the child did not start"
CHILD_DIED = "the child ended in the middle of its work"
CHILD_LOUD = "the child wrote more than {limit} bytes"
NOBODY_YET = "still somebody else after setresuid"
NO_ACCOUNT = "slurmd gave no SLURM_JOB_UID and SLURM_JOB_GID"
OUTPUT_NO_OWNER = "not written to {path}: the job's owner is not known, or is root"
OUTPUT_LATE = "writing {path} took longer than {seconds} s"
OUTPUT_UNWRITTEN = "cannot write {path}: {why}"
