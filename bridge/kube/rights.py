"""What a node's daemon may do in Kubernetes: the one table. `rbac/` grants it, the audit log of the tests uses it, and
tests compare the three both ways."""

from dataclasses import dataclass
from enum import Enum

KUBEFLOW = "kubeflow.org"


class Scope(Enum):
    """Where a right holds; the Role or ClusterRole of `rbac/` that grants it."""

    JOBS = "each namespace of jobs"
    OWN = "the namespace of the daemons' accounts"
    CLUSTER = "the cluster"


@dataclass(frozen=True)
class Right:
    """One verb on one resource. ``group`` is '' for Kubernetes' core; ``why`` names what would not work without it."""

    verb: str
    group: str
    resource: str
    scope: Scope
    why: str


RIGHTS = (
    Right("create", KUBEFLOW, "pytorchjobs", Scope.JOBS, "the batch node's prolog"),
    Right(
        "get",
        KUBEFLOW,
        "pytorchjobs",
        Scope.JOBS,
        "an own workload is known again after a lost answer; is that of a pod that does not come still there",
    ),
    Right("list", KUBEFLOW, "pytorchjobs", Scope.JOBS, "an epilog that has a job id only; workloads without a run"),
    Right("watch", KUBEFLOW, "pytorchjobs", Scope.JOBS, "the batch node's wait, and every epilog's"),
    Right("delete", KUBEFLOW, "pytorchjobs", Scope.JOBS, "every epilog; workloads without a run"),
    Right("get", "", "pods", Scope.JOBS, "the proof of release, where the pod's deletion was not seen"),
    Right("list", "", "pods", Scope.JOBS, "the proof of release; pods left of released runs"),
    Right("watch", "", "pods", Scope.JOBS, "readiness, and how a pod ends"),
    Right("patch", "", "pods", Scope.JOBS, "the gate of the node's own pod"),
    Right("delete", "", "pods", Scope.JOBS, "the node's own pod in the epilog"),
    Right("get", "", "pods/log", Scope.JOBS, "bridgectl attach and logs"),
    Right("list", "", "events", Scope.JOBS, "why pods could not be made; which nodes told of a fault of their own"),
    Right("create", "", "events", Scope.JOBS, "a node tells of a fault of its own, or why it opens no gate"),
    Right("create", "", "serviceaccounts/token", Scope.OWN, "a node renews its own credential"),
    Right("get", "", "nodes", Scope.CLUSTER, "the daemon proves that it is this Node (bootID); is the batch node lost"),
)
