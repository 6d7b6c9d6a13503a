"""What somebody who has taken over a node's daemon might try, and which rule refuses it."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .callers import ACCOUNTS

Manifest = dict[str, Any]
Way = tuple[str | int, ...]

WORKER: Way = ("spec", "pytorchReplicaSpecs", "Worker")
TEMPLATE: Way = (*WORKER, "template")
POD: Way = (*TEMPLATE, "spec")
TRAINING: Way = (*POD, "containers", 0)
_LABELS: Way = ("metadata", "labels")
_NODES = "slurm-k8s-bridge/nodes"
_VOLUME: Way = (*POD, "volumes", 0)
GONE = object()


@dataclass(frozen=True)
class Change:
    """One field of a workload as the bridge renders it is another; GONE takes it away."""

    what: str
    rule: str
    way: Way
    value: Any

    def of(self, manifest: Manifest) -> Manifest:
        """The changed workload."""
        changed = deepcopy(manifest)
        place: Any = changed
        for part in self.way[:-1]:
            place = place[part] if isinstance(part, int) else place.setdefault(part, {})
        if self.value is GONE:
            del place[self.way[-1]]
        else:
            place[self.way[-1]] = self.value
        return changed


def _volume(kind: str, source: Manifest) -> Manifest:
    return {"name": "shm", kind: source}


_PROJECTED = _volume("projected", {"sources": [{"serviceAccountToken": {"path": "token"}}]})
_PRIVILEGES = ("allowPrivilegeEscalation", "capabilities")
_OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}
_MASTER = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": []}}}

WORKLOADS = (
    Change("another node at rank 0", "workload-rank-0", ("metadata", "annotations", _NODES), "compute2,compute1"),
    Change("nobody at rank 0", "workload-rank-0", ("metadata", "annotations", _NODES), GONE),
    Change("a name of no run", "workload-name", ("metadata", "name"), "train"),
    Change("another run's labels", "workload-name", (*_LABELS, "slurm-k8s-bridge/run"), "slurm-demo-1-0"),
    Change("another job's label", "workload-name", (*_LABELS, "slurm-k8s-bridge/job"), "1"),
    Change("an owner", "workload-name", ("metadata", "ownerReferences"), [_OWNER]),
    Change("a finalizer", "workload-name", ("metadata", "finalizers"), ["a.b/c"]),
    Change("more pods than nodes", "workload-replicas", (*WORKER, "replicas"), 50),
    Change("a pod that comes back", "workload-replicas", (*WORKER, "restartPolicy"), "OnFailure"),
    Change("a master", "workload-replicas", ("spec", "pytorchReplicaSpecs", "Master"), _MASTER),
    Change("pods that stay", "workload-replicas", ("spec", "runPolicy", "cleanPodPolicy"), "None"),
    Change("another controller", "workload-replicas", ("spec", "runPolicy", "managedBy"), "kueue.x-k8s.io/multikueue"),
    Change("elastic pods", "workload-replicas", ("spec", "elasticPolicy"), {"minReplicas": 1}),
    Change("pods of other nodes", "workload-template", (*TEMPLATE, "metadata", "annotations", _NODES), "compute2"),
    Change(
        "a rank before its gate is open",
        "workload-template",
        (*TEMPLATE, "metadata", "annotations", "slurm-k8s-bridge/node-rank"),
        "0",
    ),
    Change(
        "the operator's labels",
        "workload-template",
        (*TEMPLATE, "metadata", "labels", "training.kubeflow.org/replica-index"),
        "1",
    ),
    Change("no gate", "workload-gate", (*POD, "schedulingGates"), GONE),
    Change("a gate of its own", "workload-gate", (*POD, "schedulingGates", 0, "name"), "a.b/c"),
    Change("a node without the scheduler", "workload-pod", (*POD, "nodeName"), "compute2"),
    Change("a node selector", "workload-pod", (*POD, "nodeSelector"), {"a": "b"}),
    Change("an affinity", "workload-pod", (*POD, "affinity"), {"podAntiAffinity": {}}),
    Change("the node's processes", "workload-pod", (*POD, "hostPID"), True),
    Change("the node's memory", "workload-pod", (*POD, "hostIPC"), True),
    Change("the node's network", "workload-network", (*POD, "hostNetwork"), True),
    Change("a port of the node", "workload-network", (*TRAINING, "ports"), [{"containerPort": 80, "hostPort": 80}]),
    Change("uid 0", "workload-user", (*POD, "securityContext", "runAsUser"), 0),
    Change("a system account", "workload-user", (*POD, "securityContext", "runAsUser"), 999),
    Change("group 0", "workload-user", (*POD, "securityContext", "runAsGroup"), 0),
    Change("group 0 beside its own", "workload-user", (*POD, "securityContext", "supplementalGroups"), [0]),
    Change("every system call", "workload-user", (*POD, "securityContext", "seccompProfile", "type"), "Unconfined"),
    Change("a file system group", "workload-user", (*POD, "securityContext", "fsGroup"), 0),
    Change("uid 0 in a container", "workload-privileges", (*TRAINING, "securityContext", "runAsUser"), 0),
    Change("privileged", "workload-privileges", (*TRAINING, "securityContext", "privileged"), True),
    Change("setuid", "workload-privileges", (*TRAINING, "securityContext", _PRIVILEGES[0]), True),
    Change("SYS_ADMIN", "workload-privileges", (*TRAINING, "securityContext", _PRIVILEGES[1], "add"), ["SYS_ADMIN"]),
    Change("IPC_LOCK", "workload-privileges", (*TRAINING, "securityContext", _PRIVILEGES[1], "add"), ["IPC_LOCK"]),
    Change("capabilities", "workload-privileges", (*TRAINING, "securityContext", _PRIVILEGES[1], "drop"), ["KILL"]),
    Change("a block device", "workload-container", (*TRAINING, "volumeDevices"), [{"name": "shm", "devicePath": "/x"}]),
    Change(
        "a question of the kubelet to somebody else",
        "workload-handlers",
        (*TRAINING, "lifecycle"),
        {"preStop": {"httpGet": {"host": "10.0.0.1", "port": 80}}},
    ),
    Change(
        "the same by a probe",
        "workload-handlers",
        (*TRAINING, "livenessProbe"),
        {"tcpSocket": {"host": "10.0.0.1", "port": 80}},
    ),
    Change("a terminal", "workload-container", (*TRAINING, "tty"), True),
    Change("a directory of the node", "workload-host-path", _VOLUME, _volume("hostPath", {"path": "/etc"})),
    Change("another file server", "workload-volume", _VOLUME, _volume("nfs", {"server": "a", "path": "/"})),
    Change("a token in a volume", "workload-projected", _VOLUME, _PROJECTED),
    Change("a token", "workload-account", (*POD, "automountServiceAccountToken"), True),
    Change("another account", "workload-account", (*POD, "serviceAccountName"), "builder"),
    Change("a priority of the system", "workload-account", (*POD, "priorityClassName"), "system-node-critical"),
    Change("every taint", "workload-tolerations", (*POD, "tolerations", 0), {"operator": "Exists"}),
)

Patch = list[Manifest]


def _also(op: str, path: str, value: Any = None) -> Callable[[Patch], Patch]:
    return lambda opening: [*opening, {"op": op, "path": path, "value": value}]


def _held_to(node: str) -> Callable[[Patch], Patch]:
    def of(opening: Patch) -> Patch:
        changed = deepcopy(opening)
        (affinity,) = [op for op in changed if op["path"] == "/spec/affinity"]
        required = affinity["value"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        required["nodeSelectorTerms"][0]["matchFields"][0]["values"] = [node]
        return changed

    return of


def _without(path: str) -> Callable[[Patch], Patch]:
    return lambda opening: [op for op in opening if not op["path"].startswith(path)]


def _ranked(rank: str) -> Callable[[Patch], Patch]:
    return lambda opening: [op | {"value": rank} if op["path"].endswith("node-rank") else op for op in opening]


_UNHELD = {"key": "a", "operator": "Exists", "effect": "NoExecute"}

OPENINGS = (
    ("another image", "gate-spec", _also("replace", "/spec/containers/0/image", "registry:5000/skb/train:1")),
    ("another volume", "may not change fields", _also("add", "/spec/volumes/-", {"name": "x", "emptyDir": {}})),
    ("another toleration", "gate-spec", _also("add", "/spec/tolerations/-", _UNHELD)),
    ("a deadline", "gate-spec", _also("add", "/spec/activeDeadlineSeconds", 1)),
    ("a node selector", "gate-spec", _also("add", "/spec/nodeSelector", {"a": "b"})),
    ("a label", "gate-metadata", _also("add", "/metadata/labels/slurm-k8s-bridge~1job", "1")),
    (
        "another rank by label",
        "gate-metadata",
        _also("add", "/metadata/labels/training.kubeflow.org~1replica-index", "0"),
    ),
    ("a finalizer", "gate-metadata", _also("add", "/metadata/finalizers", ["a.b/c"])),
    ("no owner", "gate-metadata", _also("remove", "/metadata/ownerReferences")),
    ("other nodes", "gate-annotations", _also("add", "/metadata/annotations/slurm-k8s-bridge~1nodes", "compute1")),
    ("an annotation", "gate-annotations", _also("add", "/metadata/annotations/a", "b")),
    ("another rank", "gate-annotations", _ranked("0")),
    ("no rank", "gate-annotations", _without("/metadata/annotations")),
    ("another node", "gate-affinity", _held_to("compute2")),
    ("no node", "gate-affinity", _without("/spec/affinity")),
    ("the gate still shut", "gate-only", _without("/spec/schedulingGates")),
)

RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_CORE = "/api/v1"
JOBS = f"{_CORE}/namespaces/slurm-jobs"
_NODE = f"{_CORE}/nodes/compute1"
_LABELLED = [{"op": "add", "path": "/metadata/labels/a", "value": "b"}]
_TAINTED = [{"op": "add", "path": "/spec/taints/-", "value": {"key": "a", "effect": "NoExecute"}}]
_UNTAINTED = [{"op": "remove", "path": "/spec/taints"}]
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
_BOUND = {"metadata": {"name": "mine"}, "roleRef": ROLE, "subjects": [{"kind": "User", "name": "me"}]}

# What RBAC refuses: none of it is in the table of bridge/kube/rights.py.
UNGRANTED: tuple[tuple[str, str, Any, str], ...] = (
    ("GET", f"{JOBS}/secrets/any", None, 'cannot get resource "secrets"'),
    ("GET", f"{JOBS}/secrets", None, 'cannot list resource "secrets"'),
    ("GET", f"{JOBS}/configmaps", None, 'cannot list resource "configmaps"'),
    ("GET", f"{_CORE}/namespaces", None, 'cannot list resource "namespaces"'),
    ("GET", f"{_CORE}/namespaces/default/pods", None, 'cannot list resource "pods"'),
    ("GET", f"{_CORE}/pods", None, 'cannot list resource "pods"'),
    ("GET", "/apis/kubeflow.org/v1/pytorchjobs", None, 'cannot list resource "pytorchjobs"'),
    ("POST", f"{JOBS}/pods", {"metadata": {"name": "x"}}, 'cannot create resource "pods"'),
    ("POST", f"{_CORE}/namespaces/slurm-k8s-bridge/pods", {}, 'cannot create resource "pods"'),
    ("DELETE", f"{JOBS}/pods", None, 'cannot deletecollection resource "pods"'),
    ("POST", f"{JOBS}/pods/x/exec?command=sh&stdin=true", None, 'cannot create resource "pods/exec"'),
    ("POST", f"{JOBS}/pods/x/attach", None, 'cannot create resource "pods/attach"'),
    ("POST", f"{JOBS}/pods/x/portforward", None, 'cannot create resource "pods/portforward"'),
    ("PATCH", f"{JOBS}/pods/x/ephemeralcontainers", [], 'cannot patch resource "pods/ephemeralcontainers"'),
    ("PATCH", f"{JOBS}/pods/x/status", [], 'cannot patch resource "pods/status"'),
    ("POST", f"{JOBS}/pods/x/binding", {}, 'cannot create resource "pods/binding"'),
    ("POST", f"{JOBS}/pods/x/eviction", {}, 'cannot create resource "pods/eviction"'),
    ("PATCH", "/apis/kubeflow.org/v1/namespaces/slurm-jobs/pytorchjobs/x", [], 'cannot patch resource "pytorchjobs"'),
    ("DELETE", "/apis/kubeflow.org/v1/namespaces/slurm-jobs/pytorchjobs", None, "cannot deletecollection"),
    ("GET", f"{_CORE}/nodes", None, 'cannot list resource "nodes"'),
    ("PATCH", _NODE, _LABELLED, 'cannot patch resource "nodes"'),
    ("PATCH", _NODE, _TAINTED, 'cannot patch resource "nodes"'),
    ("PATCH", f"{_CORE}/nodes/compute2", _UNTAINTED, 'cannot patch resource "nodes"'),
    ("PATCH", _NODE, _UNTAINTED, 'cannot patch resource "nodes"'),
    ("PATCH", f"{_NODE}/status", [], 'cannot patch resource "nodes/status"'),
    ("DELETE", _NODE, None, 'cannot delete resource "nodes"'),
    ("GET", f"{_NODE}/proxy/pods", None, 'cannot get resource "nodes/proxy"'),
    ("POST", f"{RBAC}/clusterrolebindings", _BOUND, 'cannot create resource "clusterrolebindings"'),
    ("POST", f"{RBAC}/namespaces/slurm-jobs/rolebindings", _BOUND, 'cannot create resource "rolebindings"'),
    ("PATCH", f"{RBAC}/namespaces/slurm-jobs/roles/slurm-k8s-bridge", [], 'cannot patch resource "roles"'),
    ("DELETE", f"{_ADMISSION}/validatingadmissionpolicies/slurm-k8s-bridge-gate", None, "cannot delete resource"),
    ("POST", f"{RBAC}/namespaces/slurm-jobs/roles", {"metadata": {"name": "x"}}, 'cannot create resource "roles"'),
    ("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "x"}}, 'cannot create resource "clusterroles"'),
    (
        "PATCH",
        f"{RBAC}/namespaces/slurm-k8s-bridge/rolebindings/slurm-k8s-bridge-renewal",
        {},
        'cannot patch resource "rolebindings"',
    ),
    ("PATCH", f"{RBAC}/clusterrolebindings/slurm-k8s-bridge-enroller", {}, "cannot patch resource"),
    ("PATCH", f"{ACCOUNTS}/compute2", {}, 'cannot patch resource "serviceaccounts"'),
    ("DELETE", f"{ACCOUNTS}/compute2", None, 'cannot delete resource "serviceaccounts"'),
    (
        "POST",
        f"{_CORE}/namespaces/kubeflow/serviceaccounts/training-operator/token",
        {},
        'cannot create resource "serviceaccounts/token"',
    ),
    ("POST", ACCOUNTS, {"metadata": {"name": "mine"}}, 'cannot create resource "serviceaccounts"'),
    ("POST", f"{JOBS}/serviceaccounts/default/token", {}, 'cannot create resource "serviceaccounts/token"'),
    ("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", {}, "cannot create resource"),
)
