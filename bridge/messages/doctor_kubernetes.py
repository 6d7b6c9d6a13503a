"""What `bridgectl doctor` finds in Kubernetes and between it and this node."""

from bridge.messages import Message
from bridge.messages.doctor import NOTHING_KNOWN

_WAITS = "prologs on this node wait and their jobs go back into the queue; epilogs wait"
_NO_PODS = "pods of jobs do not start on this node"
_REQUEUED = "jobs that come here go back into the queue, and at last the node is drained"
_OPEN_POOL = "nodes may do more in Kubernetes than they should; jobs run"
_RBAC = "kubectl apply -k rbac"
_ENROLL = "`bridgectl node enroll`, mode 0600, owner slurm-k8s-bridge"

# -- as the node sees it

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
    "crd-unread", "the API server does not tell which fields a PyTorchJob has", NOTHING_KNOWN, "see /openapi/v3 of it"
)
OPERATOR_OLD = Message(
    "operator-old",
    "the PyTorchJob of this cluster has no {fields}",
    "the API server refuses every workload of the bridge",
    "install training-operator 1.7 or newer, its CRD, too",
)
VERSION_UNLIKE = Message(
    "version-unlike", "the API server calls its version {version!r}", NOTHING_KNOWN, "see whether it is one"
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
    "upgrade Kubernetes, or accept it: docs/how-to/node-identity.md says what it means",
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
    NOTHING_KNOWN,
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
    NOTHING_KNOWN,
    "compare cgroupDriver of the kubelet with SystemdCgroup (containerd) or cgroup_manager (CRI-O) by hand",
)
CGROUPS_DIFFER = Message(
    "cgroups-differ",
    "the kubelet has the cgroup driver {kubelet}, and containerd {runtime}",
    "pods do not start, or die under load",
    "give both the same, systemd where systemd is init, and start both anew",
)

# -- as an admin sees it

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
