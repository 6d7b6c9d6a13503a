"""What is put into Kubernetes before the first job: operator, DNS, the product's rights."""

from __future__ import annotations

from pathlib import Path

from . import compose
from .commands import output
from .places import CHECKOUT, NAMESPACE, NODES, STACK, run_dir

_NODE_LIMIT = "180s"  # a minute is too short where two stacks start at once on two cores


class Cluster:
    """kubectl with the admin's rights, from this machine."""

    def __init__(self, programs: dict[str, Path]) -> None:
        self.programs = programs
        self.admin = run_dir() / "admin.kubeconfig"

    def kubectl(self, *arguments: str, stdin: bytes | None = None) -> str:
        """Run kubectl and return what it prints."""
        program = str(self.programs["kubernetes"] / "kubectl")
        return output([program, f"--kubeconfig={self.admin}", *arguments], stdin=stdin)

    def set_up(self) -> None:
        """Apply what the operator, CoreDNS and the API server itself need."""
        operator = self.programs["training-operator"]
        files = [
            STACK / "control" / "manifests",
            operator / "crd.yaml",
            operator / "role.yaml",
            run_dir() / "webhook.json",
        ]
        self._apply(*files)

    def grant_product(self) -> None:
        """Apply rbac/ of the checkout: namespaces, roles, policies. Jobs may use every claim of their namespace."""
        self.kubectl("apply", "--server-side", "-k", str(CHECKOUT / "rbac" / "overlays" / "one-namespace"))
        claims = "slurm-k8s-bridge/allowed-claims=*"
        self.kubectl("annotate", "--overwrite", "namespace", NAMESPACE, claims)

    def node_kubeconfig(self, name: str) -> bytes:
        """Return the kubeconfig of one node's daemon, made as a site makes it; the Node must be there."""
        self.kubectl("wait", "--for=create", f"--timeout={_NODE_LIMIT}", f"node/{name}")
        enroll = ["bridgectl", "node", "enroll", name, "--server", "https://kube-apiserver:6443"]
        return compose.run_in("login", *enroll).encode()

    def take_into_service(self, name: str) -> None:
        """Give a node its kubeconfig and start the product's daemon and slurmd."""
        compose.run_in(name, "/stack/compute/provision.sh", stdin=self.node_kubeconfig(name))

    def await_gpus(self) -> None:
        """Wait until every kubelet offers what its device plugin told it."""
        nodes = [f"node/{name}" for name in NODES]
        self.kubectl("wait", "--for=create", f"--timeout={_NODE_LIMIT}", *nodes)
        self.kubectl("wait", "--for=condition=Ready", f"--timeout={_NODE_LIMIT}", *nodes)
        self.kubectl(
            "wait", r"--for=jsonpath={.status.allocatable.nvidia\.com/gpu}=2", f"--timeout={_NODE_LIMIT}", *nodes
        )

    def _apply(self, *files: Path) -> None:
        named = [part for file in files for part in ("-f", str(file))]
        self.kubectl("apply", "--server-side", "--force-conflicts", *named)
