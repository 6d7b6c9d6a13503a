"""What a stolen daemon could do: next to nothing. Asked of the running one, not of its unit file."""

import pytest

from .stack import NODES, Stack

ALLOWED = [
    ("create", "pytorchjobs.kubeflow.org"),
    ("list", "pytorchjobs.kubeflow.org"),
    ("delete", "pytorchjobs.kubeflow.org"),
    ("watch", "pods"),
    ("patch", "pods"),
    ("get", "pods/log"),
    ("list", "events"),
    ("create", "events"),
]
DENIED = [
    ("get", "secrets"),
    ("create", "pods"),
    ("create", "pods/exec"),
    ("update", "pytorchjobs.kubeflow.org"),
    ("patch", "pytorchjobs.kubeflow.org"),
    ("create", "rolebindings"),
    ("create", "serviceaccounts/token"),
]


def can_i(stack: Stack, node: str, verb: str, resource: str, *options: str) -> bool:
    """`kubectl auth can-i` with this node's own credential."""
    kubeconfig = stack.sh(node, "cat /var/lib/slurm-k8s-bridge/credential/kubeconfig")
    words = " ".join(["kubectl", "--kubeconfig", "$file", "auth", "can-i", verb, resource, *options])
    script = f"file=$(mktemp) && cat > $file && {words} 2>/dev/null; rm $file"
    answer = stack.exec("login", "sh", "-c", script, stdin=kubeconfig)
    return answer.strip() == "yes"


@pytest.mark.parametrize("node", NODES)
def test_its_own_user_and_no_capability(running_stack: Stack, node: str) -> None:
    pid = running_stack.main_pid(node)
    status = dict(line.split(":\t", 1) for line in running_stack.sh(node, f"cat /proc/{pid}/status").splitlines())
    assert set(status["Uid"].split()) == {running_stack.sh(node, "id -u slurm-k8s-bridge").strip()} - {"0"}
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("node", NODES)
def test_its_credential_is_its_own_and_a_small_one(running_stack: Stack, node: str) -> None:
    mode = running_stack.sh(node, "stat -c '%a %U' /var/lib/slurm-k8s-bridge/credential/kubeconfig").split()
    assert mode == ["600", "slurm-k8s-bridge"]
    in_jobs = ("-n", running_stack.namespace)
    for verb, resource in ALLOWED:
        assert can_i(running_stack, node, verb, resource, *in_jobs), (verb, resource)
        assert not can_i(running_stack, node, verb, resource, "-n", "default"), (verb, resource, "default")
    for verb, resource in DENIED:
        assert not can_i(running_stack, node, verb, resource, *in_jobs), (verb, resource)
    assert can_i(running_stack, node, "get", "nodes")
    for verb in ("list", "patch", "update", "delete"):
        assert not can_i(running_stack, node, verb, "nodes"), verb


@pytest.mark.parametrize("node", NODES)
def test_no_admin_credential_and_no_slurm_key_lies_on_a_compute_node(running_stack: Stack, node: str) -> None:
    found = running_stack.sh(
        node, "find / -xdev \\( -name 'admin*.kubeconfig' -o -name '*jwt*.key' \\) 2>/dev/null; true"
    )
    assert found == ""
