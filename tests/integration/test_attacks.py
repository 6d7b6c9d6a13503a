"""With the real credential of one node: whatever concerns others is refused, and said by which rule."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bridge.job.gate import opening
from bridge.job.pods import pod_facts

from .attacks import JOBS, OPENINGS, RBAC, ROLE, UNGRANTED, WORKLOADS, Change
from .callers import ACCOUNTS, MERGE, PATCH, Caller, kubelet, of_node, pods, rendered, token, workloads
from .policies import probe
from .rows import applied
from .stack import Stack, eventually

_DRY = "?dryRun=All"
_SHARED, _FOREIGN, _NEW = 4_000_001, 4_000_002, 4_000_003


@pytest.fixture(scope="module")
def thief(running_stack: Stack) -> Caller:
    """Who has taken over the daemon of compute1."""
    return of_node(running_stack, "compute1")


@pytest.fixture(scope="module")
def shared(running_stack: Stack) -> Iterator[list[dict[str, Any]]]:
    """The gated pods of a workload that compute2 has made, whose rank 1 is compute1; and beside it one of its own."""
    running_stack.make_clean()
    victim, path = of_node(running_stack, "compute2"), workloads(running_stack)
    made = [rendered(running_stack, _SHARED, "compute2", "compute1"), rendered(running_stack, _FOREIGN, "compute2")]
    try:
        for manifest in made:
            status, answer = victim.ask("POST", path, manifest)
            assert status == 201, answer
        names = [f"{made[0]['metadata']['name']}-worker-{rank}" for rank in range(2)]
        eventually(lambda: set(names) <= set(running_stack.names("pods")), 60, "gated pods")
        yield [json.loads(victim.ask("GET", f"{pods(running_stack)}/{name}")[1]) for name in names]
    finally:
        running_stack.kubectl("-n", running_stack.namespace, "delete", "pytorchjobs", "--all", "--cascade=foreground")
        running_stack.assert_clean()


def refused(answer: tuple[int, str], rule: str, *statuses: int) -> None:
    """With one of these statuses, and by this rule."""
    assert answer[0] in (statuses or (403,)), answer
    assert rule in json.loads(answer[1])["message"], answer


@pytest.mark.parametrize(("method", "path", "body", "rule"), UNGRANTED, ids=[f"{row[0]} {row[1]}" for row in UNGRANTED])
def test_what_no_node_may(thief: Caller, method: str, path: str, body: Any, rule: str) -> None:
    refused(thief.ask(method, path, body, PATCH if method == "PATCH" else "application/json"), rule)


@pytest.mark.parametrize("change", WORKLOADS, ids=[change.what for change in WORKLOADS])
def test_a_workload_that_the_bridge_would_not_render(running_stack: Stack, thief: Caller, change: Change) -> None:
    manifest = change.of(rendered(running_stack, _NEW, "compute1"))
    refused(thief.ask("POST", workloads(running_stack) + _DRY, manifest), f"{change.rule}: ")


@pytest.mark.parametrize("nodes", [1, 2000])
def test_a_workload_as_the_bridge_renders_it_is_taken(running_stack: Stack, thief: Caller, nodes: int) -> None:
    """Of many nodes, too: a policy may cost the API server no more than Kubernetes allows."""
    others = [f"gpu-node-{number:05}.cluster.example" for number in range(1, nodes)]
    manifest = rendered(running_stack, _NEW, "compute1", *others)
    status, answer = thief.ask("POST", workloads(running_stack) + _DRY, manifest)
    assert status == 201, answer


def opened(pod: dict[str, Any], node: str) -> list[dict[str, Any]]:
    """The patch that opens a pod's gate."""
    facts = pod_facts(pod)
    assert facts is not None
    return opening(facts, node)


@pytest.mark.parametrize(("what", "rule", "change"), OPENINGS, ids=[row[0] for row in OPENINGS])
def test_more_than_the_gate_of_its_own_pod(
    running_stack: Stack, thief: Caller, shared: list[dict[str, Any]], what: str, rule: str, change: Any
) -> None:
    assert what
    path = f"{pods(running_stack)}/{shared[1]['metadata']['name']}{_DRY}"
    refused(thief.ask("PATCH", path, change(opened(shared[1], "compute1")), PATCH), rule, 403, 422)


def test_the_gate_of_another_nodes_pod(running_stack: Stack, thief: Caller, shared: list[dict[str, Any]]) -> None:
    """Its own it may open."""
    for pod, node in ((shared[0], "compute1"), (shared[0], "compute2")):
        path = f"{pods(running_stack)}/{pod['metadata']['name']}"
        refused(thief.ask("PATCH", path, opened(pod, node), PATCH), "gate-rank: ")
    own = f"{pods(running_stack)}/{shared[1]['metadata']['name']}{_DRY}"
    status, answer = thief.ask("PATCH", own, opened(shared[1], "compute1"), PATCH)
    assert status == 200, answer


def test_what_others_have_is_not_deleted(running_stack: Stack, thief: Caller, shared: list[dict[str, Any]]) -> None:
    path = f"{workloads(running_stack)}/slurm-demo-{_FOREIGN}-0"
    refused(thief.ask("DELETE", path), "delete-workload: ")
    refused(thief.ask("DELETE", f"{pods(running_stack)}/{shared[0]['metadata']['name']}"), "delete-pod: ")
    somebodys = json.loads(probe(running_stack, "Pod"))
    with applied(running_stack, somebodys):
        refused(thief.ask("DELETE", f"{pods(running_stack)}/{somebodys['metadata']['name']}"), "delete-foreign: ")
    for own in (
        f"{pods(running_stack)}/{shared[1]['metadata']['name']}",
        workloads(running_stack) + "/slurm-demo-4000001-0",
    ):
        status, answer = thief.ask("DELETE", own + _DRY)
        assert status == 200, answer


def test_a_token_of_another_node_or_of_none(running_stack: Stack, thief: Caller) -> None:
    uid = {
        node: running_stack.kubectl("get", "node", node, "-o", "jsonpath={.metadata.uid}")
        for node in running_stack.nodes
    }
    bound = {node: {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid[node]} for node in uid}
    for account, spec, rule in (
        ("compute2", {"boundObjectRef": bound["compute2"]}, "token-account"),
        ("compute2", {"boundObjectRef": bound["compute1"]}, "token-account"),
        ("compute1", {"boundObjectRef": bound["compute2"]}, "token-node"),
        ("compute1", {}, "token-node"),
        ("compute1", {"boundObjectRef": bound["compute1"], "expirationSeconds": 31_536_000}, "token-life"),
    ):
        refused(thief.ask("POST", f"{ACCOUNTS}/{account}/token", {"spec": spec}), f"{rule}: ")


def test_an_identity_without_a_node_is_denied(
    running_stack: Stack, thief: Caller, shared: list[dict[str, Any]]
) -> None:
    """A token of a node's account that says no node, or another one."""
    own = f"{pods(running_stack)}/{shared[1]['metadata']['name']}"
    for node in ("", "compute2"):
        caller = replace(thief, token=token(running_stack, "compute1", node))
        for answer in (
            caller.ask("POST", workloads(running_stack), rendered(running_stack, _NEW, "compute1")),
            caller.ask("POST", workloads(running_stack), rendered(running_stack, _NEW, "compute2")),
            caller.ask("PATCH", own, opened(shared[1], "compute1"), PATCH),
            caller.ask("DELETE", own),
            caller.ask("POST", f"{ACCOUNTS}/compute1/token", {"spec": {}}),
            caller.ask("POST", f"{JOBS}/events{_DRY}", fault("compute1", "SlurmNodeFault")),
        ):
            refused(answer, "node-claim: ")


def fault(host: str, reason: str) -> dict[str, Any]:
    """An event as a node tells it of itself."""
    about = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "x", "namespace": "slurm-jobs"}
    source = {"component": "slurm-k8s-bridge", "host": host}
    return {"metadata": {"name": "x"}, "involvedObject": about, "reason": reason, "source": source, "type": "Warning"}


def test_a_fault_told_of_another_node(thief: Caller) -> None:
    for event in (fault("compute2", "SlurmNodeFault"), fault("compute1", "Scheduled")):
        refused(thief.ask("POST", f"{JOBS}/events{_DRY}", event), "event-source: ")
    status, answer = thief.ask("POST", f"{JOBS}/events{_DRY}", fault("compute1", "SlurmNodeFault"))
    assert status == 201, answer


def test_slurms_side_told_of_something_else(thief: Caller) -> None:
    told = fault("compute1", "SlurmJobFailed") | {"message": "failed"}
    about = told["involvedObject"] | {"name": "slurm-x-1-0"}
    for event in (
        told,
        told | {"involvedObject": about | {"kind": "Pod", "apiVersion": "v1"}},
        told | {"involvedObject": about, "message": "x" * 1025},
    ):
        refused(thief.ask("POST", f"{JOBS}/events{_DRY}", event), "event-about: ")
    refused(
        thief.ask("POST", f"{JOBS}/events{_DRY}", fault("compute2", "SlurmJobFailed") | {"involvedObject": about}),
        "event-source: ",
    )
    status, answer = thief.ask("POST", f"{JOBS}/events{_DRY}", told | {"involvedObject": about})
    assert status == 201, answer


def test_somebody_else_by_impersonation(thief: Caller) -> None:
    for headers in (
        {"Impersonate-User": "system:serviceaccount:slurm-k8s-bridge:compute2"},
        {"Impersonate-User": "slurm-k8s-bridge:compute2"},
        {"Impersonate-User": "x", "Impersonate-Group": "system:masters"},
        {"Impersonate-User": "x", "Impersonate-Extra-authentication.kubernetes.io%2fnode-name": "compute2"},
    ):
        refused(replace(thief, headers=headers).ask("GET", f"{JOBS}/pods"), "cannot impersonate")


def test_the_kubelets_own_api(running_stack: Stack, thief: Caller) -> None:
    """Its own node's and another's: by RBAC, which the kubelet asks."""
    for node in running_stack.nodes:
        for path, resource in (
            ("pods", "nodes/proxy"),
            ("run/slurm-jobs/x/pytorch?cmd=id", "nodes/proxy"),
            ("exec/slurm-jobs/x/pytorch?command=id", "nodes/proxy"),
            ("containerLogs/slurm-jobs/x/pytorch", "nodes/proxy"),
            ("logs/", "nodes/log"),
            ("metrics", "nodes/metrics"),
            ("stats/summary", "nodes/stats"),
            ("configz", "nodes/proxy"),
        ):
            said = kubelet(running_stack, thief, node, path)
            assert "Forbidden (user=system:serviceaccount:slurm-k8s-bridge:compute1" in said, (path, said)
            assert resource.partition("/")[2] in said, (path, said)


def test_the_taint_and_the_gate_hold_for_everybody(running_stack: Stack, shared: list[dict[str, Any]]) -> None:
    """For those who may do all with pods in the jobs' namespace, too."""
    for tolerated in ({"key": "slurm-k8s-bridge/slurm", "operator": "Exists"}, {"operator": "Exists"}):
        pod = json.loads(probe(running_stack, "Pod"))
        pod["spec"]["tolerations"] = [tolerated]
        answer = running_stack.refusal("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
        assert "taint: only pods of the bridge" in answer
    later = [{"op": "add", "path": "/spec/tolerations/-", "value": {"operator": "Exists"}}]
    somebodys = json.loads(probe(running_stack, "Pod"))
    with applied(running_stack, somebodys):
        words = ["-n", running_stack.namespace, "patch", "pod", somebodys["metadata"]["name"], "--type=json", "-p"]
        assert "taint: only pods of the bridge" in running_stack.refusal(*words, json.dumps(later))
    tenant = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "tenant", "namespace": running_stack.namespace},
        "roleRef": {**ROLE, "name": "edit"},
        "subjects": [{"apiGroup": ROLE["apiGroup"], "kind": "User", "name": "tenant"}],
    }
    name = shared[0]["metadata"]["name"]
    words = ["-n", running_stack.namespace, "--as=tenant", "patch", "pod", name, "--type=json"]
    with applied(running_stack, tenant):
        patch = json.dumps([{"op": "remove", "path": "/spec/schedulingGates"}])
        eventually(lambda: "guard: " in running_stack.refusal(*words, "-p", patch), 30, "the guard's word")


def test_its_own_bindings_stay(thief: Caller) -> None:
    path = f"{RBAC}/namespaces/slurm-jobs/rolebindings/slurm-k8s-bridge"
    refused(thief.ask("PATCH", path, {"subjects": []}, MERGE), 'cannot patch resource "rolebindings"')
