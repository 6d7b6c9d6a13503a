"""What bridgectl itself has to say where it cannot answer."""

from bridge import wellknown
from bridge.messages import Message

_UNANSWERED = "the question stays without an answer; the job is not touched"

NO_SLURM_COMMAND = Message(
    "no-slurm-command",
    "{command} cannot be run ({why}), and no bridged is on this machine",
    _UNANSWERED,
    "ask on a login or compute node of the cluster",
)
SLURM_SILENT = Message(
    "slurm-silent",
    "{command} did not answer within {seconds} s",
    "it was ended; " + _UNANSWERED,
    "see whether slurmctld is up (scontrol ping), and try again later",
)
SQUEUE_REFUSED = Message(
    "squeue-refused", "squeue said: {said}", _UNANSWERED, "see whether slurmctld is up (scontrol ping)"
)
STEP_REFUSED = Message(
    "step-refused",
    "Slurm starts no step of this job to ask its node: {said}",
    _UNANSWERED,
    "ask on the job's first node itself, or wait until the job is over",
)
STEP_SILENT = Message(
    "step-silent",
    "the step on the job's node ended without a word, since the job ends",
    _UNANSWERED,
    "ask again in a moment",
)
STEP_UNLIKE = Message(
    "step-unlike",
    "the step on the job's node said what is no answer of bridgectl",
    _UNANSWERED,
    "install bridgectl of this version there, too",
)
DAEMON_UNLIKE = Message(
    "daemon-unlike",
    "bridged answered in a way that this bridgectl does not understand",
    _UNANSWERED,
    "install the same version of both",
)
DAEMON_UNREACHED = Message(
    "daemon-unreached",
    "bridged on this node cannot be reached at {path} ({why})",
    _UNANSWERED,
    "see `systemctl status slurm-k8s-bridge.service`",
)
DAEMON_MUTE = Message(
    "daemon-mute",
    "bridged closed the connection without an answer",
    _UNANSWERED,
    "see its log (journalctl -u slurm-k8s-bridge)",
)
JOBID_UNLIKE = Message(
    "jobid-unlike", "{given} is no job id", _UNANSWERED, "write 12, or 12_3 for element 3 of array 12"
)
HET_PART = Message(
    "het-part",
    "{job} is a part of a heterogeneous job, and the bridge takes none",
    "such a job is refused in its prolog, and the reason stands in its comment",
    "submit one job with equal nodes instead",
)
ARRAY_JOB = Message(
    "array-job", "job {job} is an array: {elements}", _UNANSWERED, "name one element, such as {example}"
)
JOB_FORGOTTEN = Message(
    "job-forgotten",
    "Slurm knows no job {job} (any more), so its output file is not known either",
    _UNANSWERED,
    f"name the file beside it: bridgectl explain --file OUTPUT{wellknown.TIMELINE_SUFFIX}",
)
FILE_UNREADABLE = Message(
    "file-unreadable",
    "{path} cannot be read: {why}",
    _UNANSWERED,
    "see that it is the job's file, and ask as the job's owner",
)
FILE_UNLIKE = Message(
    "file-unlike",
    "{path} is no time line of a run that this bridgectl understands: of a newer version, or changed by hand",
    _UNANSWERED,
    "look at the job's output file beside it",
)
JOB_PENDING = Message(
    "job-pending",
    "the job waits in the queue (Slurm: {reason})",
    "the bridge begins when the job has its nodes",
    "see squeue --start for when that may be",
)
JOB_IN_PROLOG = Message(
    "job-in-prolog",
    "its prologs run, and until they end no step runs that could ask the node",
    "only what Slurm knows is told",
    "`bridgectl explain {job}` on {node} tells what they wait for",
)
JOB_WITHOUT_STEPS = Message(
    "job-without-steps",
    "Slurm shows {state}, and starts no step of the job now",
    "only what Slurm knows is told",
    "ask again when it has ended",
)
NO_TIMELINE = Message(
    "no-timeline",
    "the job has ended ({state}), and no file of its last run is beside its output ({output}): it was no bridge job, "
    "it never came to its nodes, its directory takes no file, or the site leaves none",
    "only what Slurm knows is told",
    "see the job's output file, or ask on its first node as long as that remembers",
)
NOT_RUNNING = "job {job} does not run (Slurm: {state})"

POD_GONE = Message("pod-gone", "{what}", "its last lines cannot be read any more", "see the job's output in {output}")
LINES_SKIPPED = Message(
    "lines-skipped",
    "output of rank {rank} may be missing here: it writes faster than its log is read, or the kubelet replaced the "
    "log's file (containerLogMaxSize) while API server or bridged were away",
    "the training goes on, and the output from here on is shown",
    "write to a file what must not be lost",
)
LINES_LOST = Message(
    "lines-lost",
    "the training has ended, and the last lines of rank {ranks} did not come in time: API server or kubelet do not "
    "give them",
    "the job ends all the same, and its output lacks them",
    "write what must not be lost to a file, and tell the site's administrator",
)
OUTPUT_FILE = Message(
    "output-file",
    "{what}",
    "what `bridgectl attach` wrote of all ranks is shown instead of one rank's last lines",
    "this is its output file {path}",
)
OUTPUT_UNKNOWN = Message(
    "output-unknown",
    "{what}, and where its output file is nobody knows any more",
    "nothing is shown",
    "look where sbatch --output said",
)
OUTPUT_NO_FILE = Message(
    "output-no-file",
    "{what}, and {path} is no file that keeps its output",
    "nothing is shown",
    "give sbatch --output a file next time",
)
OUTPUT_UNREADABLE = Message(
    "output-unreadable",
    "{what}, and {path} cannot be read: {why}",
    "nothing is shown",
    "ask as the job's owner, on a node that has this directory",
)
ATTACH_OUTSIDE = Message(
    "attach-outside",
    "attach belongs into a batch script: there is no SLURM_JOB_ID here",
    "nothing is shown",
    "call it as the last line of the script that sbatch is given",
)
RANKS_UNLIKE = Message(
    "ranks-unlike",
    "ranks are up to {most} whole numbers (not {given})",
    "nothing is shown",
    "write them with commas, such as 0,3",
)
DAEMON_CLOSES = "it closes the connection without an answer; see its log (journalctl -u slurm-k8s-bridge)"
ATTACH_ALONE = Message(
    "attach-alone",
    "bridged on this node has not taken this job's question for {seconds} s, so the job ends here and its pods with "
    "it; last known: {why}",
    "the script ends with 75",
    "see `systemctl status slurm-k8s-bridge` there, and submit the job again",
)
NODE_UNCONFIGURED = Message(
    "node-unconfigured",
    "{host} cannot run containers for Slurm jobs: the bridge is installed on it and was never set up ({path} is not "
    "there)",
    "nothing has been run; the script ends with 75, and the node stays in service",
    "tell the site, and submit the job again with --exclude={host}",
)
NO_PROLOG_CAME = Message(
    "no-prolog-came",
    "job {job} asks for the bridge (k8s={path}), but no prolog of it has come to bridged on this node, so it has no "
    "pods: the bridge's hook is not in slurmd's Prolog here, or the word was added after the job began, or the "
    "bridge's state directory was lost",
    "nothing has been run; the script ends with 75",
    "tell the site, and submit the job again",
)
NO_KUBECONFIG = Message(
    "no-kubeconfig",
    "shell needs a kubeconfig of your own (KUBECONFIG or ~/.kube/config) that may exec into pods: the node's may not",
    "no shell is opened",
    "ask the site for one, or take Slurm's way: `srun --overlap --jobid={job} --pty bash` gives a shell beside the pod",
)
NO_KUBECTL = Message(
    "no-kubectl",
    "shell needs kubectl, and there is none in PATH",
    "no shell is opened",
    "install it, or take Slurm's way: `srun --overlap --jobid={job} --pty bash` gives a shell beside the pod",
)
NO_RUNNING_POD = Message(
    "no-running-pod",
    "rank {rank} of job {job} has no running pod (run: {phase}, pod: {pod})",
    "no shell is opened",
    "bridgectl explain {job} says how it stands",
)
STRAY_POD = Message(
    "stray-pod",
    "pod {pod} (uid {uid}): its run was released on this node",
    "it is nobody's; it may hold GPUs that Slurm gives to the next job",
    "see who made it, delete it",
)
EXPLAIN_WHAT = Message(
    "explain-what",
    "explain takes a JOBID, or the name of a message, or --table, or --file FILE",
    _UNANSWERED,
    "give exactly one of them",
)
DRAIN_LATE = Message(
    "drain-late",
    "the containers had not ended {seconds} s after Slurm told the job to end",
    "attach leaves before Slurm kills it; what they still say is lost, and the epilog waits for them",
    "have the training end sooner on SIGTERM, and write what must not be lost to a file",
)
STOP_UNHEARD = Message(
    "stop-unheard",
    "bridged on this node has not taken the order to end the run within {seconds} s",
    "attach leaves, and the epilog ends the run; the ranks' last lines are lost",
    "tell the site's administrator: see journalctl -u slurm-k8s-bridge",
)
STOP_REFUSED = Message(
    "stop-refused",
    "bridged on this node does not end the run: {said}",
    "attach leaves, and the epilog ends the run; the ranks' last lines are lost",
    "install the same version of bridged and bridgectl, where this lasts",
)
SIGNAL_UNHEARD = Message(
    "signal-unheard",
    "{signal} was sent to nobody: none of the {processes} processes of the ranks handles it, and it would end them",
    "the training goes on without it",
    "have the training install a handler for {signal}",
)
SIGNAL_IN_PART = Message(
    "signal-in-part",
    "{told}; only {answers} of {nodes} nodes have answered: {why}",
    "the other ranks go on without the signal",
    "send it again: scancel --batch --signal",
)
SIGNAL_LOST = Message(
    "signal-lost",
    "{signal} was sent to nobody: {why}",
    "the training goes on without it",
    "send it again: scancel --batch --signal",
)
NODE_NOT_ENROLLED = Message(
    "node-not-enrolled",
    "{node} cannot be enrolled: {said}",
    "it gets no kubeconfig; nodes that are enrolled go on",
    "use the Node's name as `kubectl get nodes` shows it, and apply an overlay of rbac/ first",
)
TOKEN_UNBOUND = Message(
    "token-unbound",
    "this API server binds no token to the Node {node}: {said}",
    "no kubeconfig is written, since the policies would refuse what such a token asks",
    "use Kubernetes 1.31 or newer, or a client certificate of CN slurm-k8s-bridge:{node}",
)
RIGHTS_NOT_WRITTEN = Message(
    "rights-not-written",
    "Kubernetes did not do it: {said}",
    "nodes that it was not about go on; for its own node it may be half done",
    "do it again with an admin's kubeconfig (--kubeconfig): doing it twice is harmless",
)
RENEWAL_REFUSED = Message(
    "renewal-refused",
    "Kubernetes gives {node} no new token: {said}",
    "jobs run on until the old one expires; then prologs on this node requeue their jobs",
    "where it was not revoked on purpose, an admin runs `bridgectl node enroll {node}` and brings the file here",
)
NOTHING_TO_RENEW = Message(
    "nothing-to-renew",
    "{path}: holds no token that is bound to a Node",
    "it stays as it is, and ends when it ends",
    "have an admin run `bridgectl node enroll`; where the site renews it otherwise, mask slurm-k8s-bridge-renew.timer",
)
KUBECONFIG_WITHOUT_CLUSTER = Message(
    "kubeconfig-without-cluster",
    "{path}: its current context names no cluster that can be read",
    "nothing is written",
    "see what `kubectl config view` says of it",
)
KUBECONFIG_UNWRITTEN = Message(
    "kubeconfig-unwritten",
    "{path}: cannot be written ({why})",
    "what was there before stays, and is good until it expires",
    "see that the folder belongs to slurm-k8s-bridge and its disk has room",
)
