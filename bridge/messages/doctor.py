"""What `bridgectl doctor` finds: each with what becomes of it, and what to do."""

from bridge.messages import Message

_NOTHING_KNOWN = "nothing is known of this: it may be good or not"
_WAITS = "prologs on this node wait and their jobs go back into the queue; epilogs wait"
_NO_PODS = "pods of jobs do not start on this node"
_REQUEUED = "jobs that come here go back into the queue, and at last the node is drained"
_TAKEN_OVER = "who can change it is root on this node at the next job"
_OPEN_POOL = "nodes may do more in Kubernetes than they should; jobs run"
_RBAC = "kubectl apply -k rbac"
_ENROLL = "`bridgectl node enroll`, mode 0600, owner slurm-k8s-bridge"

# -- what could not be looked at

UNLOOKED = Message(
    "unlooked", "{check} could not be looked at: {why}", _NOTHING_KNOWN, "mend that, and run doctor again as root"
)
CRASHED = Message(
    "check-crashed",
    "the check {check} stopped by a fault of its own ({kind}: {why})",
    _NOTHING_KNOWN + "; the other checks are as good as ever",
    "report it with these words",
)
COMMAND_MISSING = Message(
    "command-missing", "{command} is not in PATH", _NOTHING_KNOWN, "install it, or run doctor with a PATH that has it"
)
COMMAND_FAILED = Message("command-failed", "`{command}` said: {said}", _NOTHING_KNOWN, "run it by hand, and see why")
SLURM_UNASKED = Message(
    "slurm-unasked", "Slurm's side is not known: {why}", _NOTHING_KNOWN, "see `scontrol ping`, then run doctor again"
)
SLURM_NODE_UNKNOWN = Message(
    "slurm-node-unknown",
    "Slurm shows no node {host}",
    "no job comes here; what Slurm would give of this node is not known",
    "run doctor on a compute node, or see NodeName in slurm.conf: the bridge takes the short host name for it",
)
NO_KUBELET_PROCESS = "no process called kubelet runs here"
NO_DRIVER_TOLD = "their configurations do not say it"
NO_DATE = "a server's answer had no date"
NO_TEST_IMAGE = "bridge.toml names no kubernetes.test_image, and --image none"
NO_PULLER = "neither crictl nor ctr is in PATH"

# -- what is installed here

PYTHON_UNUSABLE = Message(
    "python-unusable",
    "{path} does not run with what it needs: {why}",
    "that of the venv: bridged does not start; that of the hooks: every bridge job drains the node",
    "make the venv as packaging/requirements.py says; for the hooks install the system's python3",
)
PYTHON_OLD = Message(
    "python-old",
    "{path} is Python {version}, and {oldest} is the oldest that does",
    "bridged does not start, or hooks fail",
    "install a newer one at that place",
)
CONFIG_BAD = Message(
    "config-bad",
    "bridge.toml cannot be used: {fault}",
    "bridged does not start; hooks wait",
    "mend it; `bridged --check-config` says when it is good",
)
CONFIG_OPEN = Message(
    "config-open",
    "{path} can be changed by others than root ({shown})",
    "who changes it decides whose API server and whose slurmrestd this node believes",
    "chown root:root, chmod 0644",
)
SOCKET_MISSING = Message(
    "socket-missing",
    "{path} is no {kind}, or not there",
    "hooks reach nobody and drain the node; bridgectl neither",
    "systemctl restart slurm-k8s-bridge-hook.socket slurm-k8s-bridge-user.socket",
)
SOCKET_OPEN = Message(
    "socket-open",
    "{path} has owner {owner} and mode {mode} instead of root and {due}",
    "users may speak as slurmd would, or cannot ask for their jobs",
    "restart its .socket unit, and see what changed it: the unit sets both",
)
UNITS_UNKNOWN = Message("units-unknown", "systemd does not say how {unit} is", _NOTHING_KNOWN, "systemctl show {unit}")
UNIT_NOT_ENABLED = Message(
    "unit-not-enabled",
    "{unit} does not start at boot ({state})",
    "after the next boot prologs reach nobody, and drain the node",
    "systemctl enable --now {unit}; where systemd knows it not, install the package again",
)
UNIT_AFTER_SLURMD = Message(
    "unit-after-slurmd",
    "{unit} is not ordered before slurmd.service",
    "after a boot slurmd may start jobs before bridged knows which runs are unfinished",
    "see that nothing replaces its Before= (systemctl cat {unit}), and that slurmd's unit is called slurmd.service",
)
DAEMON_SILENT = Message(
    "doctor-daemon-silent",
    "bridged does not answer: {why}",
    "prologs and epilogs of bridge jobs wait for it to their deadlines",
    "see `systemctl status slurm-k8s-bridge` and `journalctl -u slurm-k8s-bridge`",
)
VERSIONS_DIFFER = Message(
    "versions-differ",
    "bridged is {daemon}, and what is installed is {own}",
    "the old one goes on until it is started anew",
    "systemctl restart slurm-k8s-bridge: running jobs go on",
)
DAEMON_UNCONNECTED = Message(
    "daemon-unconnected",
    "bridged's last word from {server} was no answer: {fault}",
    _WAITS,
    "see the other findings; where there is none, `bridgectl status` in a minute",
)
NODE_GAVE_UP = Message(
    "node-gave-up",
    "this node failed job {job}, and no pod has started here since: {sentence}",
    "Slurm has drained it, or starts the next job on a node that may fail it, too",
    "mend that, then scontrol update nodename=NODE state=resume",
)
HOOK_MISSING = Message(
    "hook-missing",
    "{path} is not there",
    "bridge jobs start here without pods, or are given back unproven",
    "install the package again, or run packaging/install.sh",
)
HOOK_OPEN = Message("hook-open", "{path} has owner {owner} and mode {mode}", _TAKEN_OVER, "chown root:root, chmod go-w")
HOOK_NOT_RUN = Message(
    "hook-not-run", "{path} is not executable", "slurmd drains the node at the next job", "chmod 0755"
)
HOOK_UNCALLED = Message(
    "hook-uncalled",
    "{setting} of slurm.conf does not name {path}",
    "bridge jobs start without pods, or are never proven gone",
    "set {setting} to that folder's /* in slurm.conf, then `scontrol reconfigure`",
)

# -- Kubernetes

KUBECONFIG_OPEN = Message(
    "kubeconfig-open",
    "{path} has owner {owner} and mode {mode}",
    "bridged cannot read it, or others can act as this node",
    "chown slurm-k8s-bridge:, chmod 0600; where others could read it, `bridgectl node revoke` and enroll again",
)
KUBERNETES_REFUSES = Message(
    "kubernetes-refuses",
    "the API server does not answer to {path}: {why}",
    _WAITS,
    "mend what it says; another credential makes " + _ENROLL,
)
KUBECONFIG_OF_ANOTHER = Message(
    "kubeconfig-of-another",
    "{path} is bound to the Node {node}, and this is {due}",
    "the policies refuse what this node asks in its own name, so its jobs go back into the queue",
    "bring the file that was made for this node, or correct cluster.node_name",
)
CREDENTIAL_WARNS = Message(
    "credential-warns", "{path}: {sentence}", _WAITS + " once it is no longer taken", "make another: " + _ENROLL
)
RIGHT_MISSING = Message(
    "right-missing",
    "this node may not {what} {where}, which serves: {why}",
    "that does not work; most often the prolog requeues the job, or the epilog proves nothing and waits",
    _RBAC + ", then `bridgectl node enroll` for a node that is new, `bridgectl node bind` for a namespace that is new",
)
CRD_MISSING = Message(
    "crd-missing-here",
    "this Kubernetes knows no PyTorchJob (kubeflow.org/v1)",
    "no bridge job can start anywhere",
    "install training-operator 1.7 or newer",
)
CRD_UNREAD = Message(
    "crd-unread", "the API server does not tell which fields a PyTorchJob has", _NOTHING_KNOWN, "see /openapi/v3 of it"
)
OPERATOR_OLD = Message(
    "operator-old",
    "the PyTorchJob of this cluster has no {fields}",
    "the API server refuses every workload of the bridge",
    "install training-operator 1.7 or newer, its CRD, too",
)
VERSION_UNLIKE = Message(
    "version-unlike", "the API server calls its version {version!r}", _NOTHING_KNOWN, "see whether it is one"
)
KUBERNETES_OLD = Message(
    "kubernetes-old",
    "the API server is {version}; scheduling gates are there since 1.27",
    "no workload of the bridge is taken",
    "upgrade Kubernetes",
)
KUBERNETES_WITHOUT_POLICIES = Message(
    "kubernetes-without-policies",
    "the API server is {version}; admission policies are there since 1.30",
    "jobs run, but a node that was taken over can act for others",
    "upgrade Kubernetes, or accept it: docs/node-identity.md says what it means",
)
POLICY_NOT_IN_FORCE = Message(
    "policy-not-in-force",
    "the API server would let this node act in another's name in {namespace}: {policy} is not in force",
    _OPEN_POOL,
    _RBAC,
)
POLICY_UNSEEN = Message(
    "policy-unseen",
    "whether {policy} is in force is not known, since the dry run was refused by somebody else: {said}",
    _NOTHING_KNOWN,
    "mend that refusal, or ask as an admin: bridgectl doctor --cluster",
)
NODE_NONE = Message(
    "node-none",
    "Kubernetes has no Node {node}, which is what cluster.node_name makes of {host}",
    _REQUEUED,
    "correct cluster.node_name in bridge.toml, or join the node",
)
NODE_OTHER = Message(
    "node-other",
    "the Node {node} is another boot or machine (bootID {theirs}, here {own})",
    "no gate is opened here: " + _REQUEUED,
    "start the kubelet here anew; where another machine has this name, correct cluster.node_name",
)
NODE_NOT_READY = Message(
    "node-not-ready", "the Node {node} is not Ready: {why}", _NO_PODS, "see `systemctl status kubelet containerd`"
)
TAINT_MISSING = Message(
    "taint-missing",
    "the Node {node} has no taint {taint}:NoSchedule",
    "other pods land on Slurm's GPUs, and jobs find them taken",
    "kubectl taint nodes {node} {taint}:NoSchedule",
)
SLURM_HOST_OTHER = Message(
    "slurm-host-other",
    "this machine is {host}, and Slurm's node of this name is on {slurm}",
    "the bridge takes the short host name for NodeName, and would act for another node",
    "give node and host one name in slurm.conf",
)
KUBELET_UNWELL = Message(
    "kubelet-unwell",
    "the kubelet does not answer well: {why}",
    _NO_PODS,
    "see `systemctl status kubelet`; where its healthz is elsewhere, set kubernetes.kubelet_healthz",
)
DISK_FULL = Message(
    "doctor-disk-full", "a disk is full: {why}", _NO_PODS, "free some: crictl rmi --prune, journalctl --vacuum-size=1G"
)
CGROUPS_UNKNOWN = Message(
    "cgroups-unknown",
    "the cgroup drivers of kubelet and runtime are not known: {why}",
    _NOTHING_KNOWN,
    "compare cgroupDriver of the kubelet with SystemdCgroup (containerd) or cgroup_manager (CRI-O) by hand",
)
CGROUPS_DIFFER = Message(
    "cgroups-differ",
    "the kubelet has the cgroup driver {kubelet}, and containerd {runtime}",
    "pods do not start, or die under load",
    "give both the same, systemd where systemd is init, and start both anew",
)

# -- Slurm

SLURM_CONF_UNREAD = Message(
    "slurm-conf-unread", "`scontrol show config` names no ClusterName", _NOTHING_KNOWN, "run it by hand, and see why"
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
    "level-unknown", "what {user} may do in Slurm is not known", _NOTHING_KNOWN, "see `sacctmgr show user {user}`"
)

# -- both sides

GPUS_DIFFER = Message(
    "gpus-differ",
    "Slurm has {slurm} GPUs on this node, and Kubernetes {kubernetes} {resource}",
    "more in Slurm: jobs are given what is not there, and the node is drained; more in Kubernetes: jobs get none",
    "see gres.conf, `kubectl describe node` and the device plugin; MIG slices need gpu.types",
)
CPUS_TOO_MANY = Message(
    "cpus-too-many",
    "{section}.max_cpus is {most:g}, and the Node can give {free:g}",
    "the pod of a job that takes the whole node never starts",
    "lower it to allocatable less the DaemonSets (bridgectl doctor --cluster)",
)
MEMORY_TOO_MUCH = Message(
    "memory-too-much",
    "{section}.max_memory is {most} MiB, and the Node can give {free}",
    "the pod of a job that takes the whole node never starts",
    "lower it to allocatable less the DaemonSets (bridgectl doctor --cluster)",
)
BOUNDS_LOW = Message(
    "bounds-low",
    "the largest pod of bridge.toml has {bounds}, less than half of what Slurm gives of this node ({given})",
    "jobs get less than they were given, and nobody uses the rest",
    "raise pod.max_cpus and pod.max_memory, or see CPUs and RealMemory in slurm.conf",
)
ALLOCATABLE_UNREAD = Message(
    "allocatable-unread", "what the Node can give, or what a pod asks for, is no quantity: {why}", _NOTHING_KNOWN,
    "see `kubectl describe node`",
)  # fmt: skip
CLOCK_OFF = Message(
    "doctor-clock-off",
    "this node's clock is {difference} that of {who}",
    "certificates, tokens and munge judge by it: before long nobody takes this node's word",
    "set it, and see why it was not set by itself: timedatectl, chronyc tracking",
)
CLOCK_UNKNOWN = Message(
    "clock-unknown", "a server's clock is not known: {why}", _NOTHING_KNOWN, "mend that, and run doctor again"
)
IMAGE_UNTRIED = Message(
    "image-untried",
    "no image was pulled: {why}",
    _NOTHING_KNOWN,
    "name a small image of the site's registry in kubernetes.test_image or by --image; crictl is in cri-tools",
)
IMAGE_NOT_PULLED = Message(
    "image-not-pulled",
    "the container runtime of this node does not get {image}: {why}",
    "jobs whose image is not there yet wait to their deadline here",
    "see name, registry, mirrors, proxy and authorities of containerd (/etc/containerd/certs.d)",
)
MARKER_LEFT = Message(
    "marker-left",
    "job {job} has begun here, Slurm has it here no more, and nobody has proven it gone",
    "the next bridge job here waits until it is proven; GPUs may still be in its hands",
    "`bridgectl show {job}` says what is missing; the next prolog proves it, too. Remove no marker by hand",
)
WORKLOAD_LEFT = Message(
    "workload-left", "{workload} is {state}: {why}", "it may hold pods on Slurm's nodes", "bridgectl gc --dry-run"
)
POD_LEFT = Message(
    "pod-left", "{pod} is of a run that was released", "it may hold GPUs that Slurm gives to others", "bridgectl gc"
)
LEFTOVERS_UNKNOWN = Message(
    "leftovers-unknown", "what is left of runs is not known: {why}", _NOTHING_KNOWN, "mend that; run doctor as root"
)

# -- the cluster, as an admin sees it

POLICY_MISSING = Message("policy-missing", "there is no policy {policy}", _OPEN_POOL, _RBAC)
POLICY_UNBOUND = Message("policy-unbound", "no binding puts {policy} in force everywhere with Deny", _OPEN_POOL, _RBAC)
POLICY_OPEN = Message(
    "policy-open", "{policy} lets pass what it cannot judge (failurePolicy is not Fail)", _OPEN_POOL, _RBAC
)
NAMESPACE_MISSING = Message(
    "jobs-namespace-missing",
    "there is no namespace {namespace}",
    "no job that goes there starts",
    "rbac/namespace prints one more; the first comes with " + _RBAC,
)
NAMESPACE_UNMARKED = Message(
    "jobs-namespace-unmarked",
    "the namespace {namespace} has no label {mark}=true",
    "the policies refuse the pods of jobs there",
    "kubectl label namespace {namespace} {mark}=true",
)
OPERATOR_UNSEEN = Message(
    "operator-unseen",
    "no Deployment runs an image called training-operator",
    "whether anybody makes pods of PyTorchJobs, and by which flags, is not known",
    "see where yours runs, and that it has neither a gang scheduler nor other schemes alone",
)
OPERATORS_MANY = Message(
    "operators-many",
    "several training-operators: {names}",
    "two that serve one namespace make pods against each other",
    "leave one, or give each --namespace of its own",
)
OPERATOR_DOWN = Message(
    "operator-down", "{name} has no ready replica", "no pods are made of workloads: prologs wait and requeue",
    "kubectl rollout status, and see its pods",
)  # fmt: skip
OPERATOR_WITHOUT_PYTORCH = Message(
    "operator-without-pytorch",
    "{name} serves {schemes}, and PyTorchJob is not among them",
    "no pods are made of workloads: prologs wait and requeue",
    "add --enable-scheme=pytorchjob to its flags",
)
OPERATOR_GANG = Message(
    "operator-gang",
    "{name} has --gang-scheduler-name={scheduler}",
    "it changes the pods' scheduler, and the bridge's own gates and theirs wait for each other",
    "take the flag out, or run a second operator for the jobs' namespaces",
)
OPERATOR_ELSEWHERE = Message(
    "operator-elsewhere",
    "{name} serves the namespace {only} alone, and not {namespaces}",
    "no pods are made of workloads there",
    "take --namespace out, or run one more",
)
NODES_UNTAINTED = Message(
    "nodes-untainted",
    "no Node has the taint {taint}",
    "the boundary between the two pools is open: anything lands on Slurm's GPUs",
    "kubectl taint nodes NODE {taint}:NoSchedule, for each node of Slurm's",
)
DAEMONSETS_IN_THE_WAY = Message(
    "daemonsets-in-the-way",
    "{node} has {shown} beside its DaemonSets, and the largest pod of {section} wants {wanted}",
    "the pod of a job that takes the whole node never starts there",
    "lower max_cpus and max_memory in bridge.toml",
)
CLUSTER_ELSEWHERE = Message(
    "cluster-elsewhere",
    "--kubeconfig is an admin's, and an admin looks at the cluster",
    "nothing is looked at",
    "add --cluster, or leave it out",
)
DOCTOR_NOT_ROOT = Message(
    "doctor-not-root",
    "only root sees all of a node: sockets, kubeconfig, kubelet, images",
    "nothing is looked at",
    "run it as root; `bridgectl doctor --cluster` needs an admin's kubeconfig only",
)
