"""A node's own credential: renewed by its timer while it works, and of no use once it is taken back."""

import json
from dataclasses import replace
from pathlib import Path

from bridge import wellknown

from .callers import Caller, of_node, pods, rendered, token, trust, workloads
from .detours import client_pair, kubeconfig, with_token
from .rows import hears
from .specs import UNTIL_LET_GO, container_job
from .stack import Stack, eventually

_RENEWAL = "slurm-k8s-bridge-renew"
_BINDING = "slurm-k8s-bridge"  # and the daemon's user
_RENEW = ("bridgectl", "node", "renew")


def works(stack: Stack, caller: Caller) -> int:
    """Status of what a daemon asks all the time."""
    return caller.ask("GET", pods(stack))[0]


def test_a_node_renews_itself_and_its_daemon_goes_on(stack: Stack) -> None:
    """With a job that runs; nothing is started anew."""
    job = stack.submit(container_job(stack.images["small"], UNTIL_LET_GO), "-N1", "-w", "compute1")
    eventually(lambda: "pods ready" in stack.comment(job), 120, "the training runs")
    before, daemon = of_node(stack, "compute1"), stack.main_pid("compute1")
    # Not due: the timer's service leaves it alone.
    stack.exec("compute1", "systemctl", "start", f"{_RENEWAL}.service")
    assert of_node(stack, "compute1").token == before.token
    stack.exec("compute1", "systemd-run", "--wait", "--quiet", "-p", f"User={_BINDING}", *_RENEW, "--now")
    after = of_node(stack, "compute1")
    assert after.token != before.token
    assert works(stack, after) == 200
    assert stack.sh("compute1", f"stat -c '%a %U' {wellknown.KUBECONFIG}").split() == ["600", _BINDING]
    assert stack.sh("compute1", f"systemctl is-active {_RENEWAL}.timer").strip() == "active"
    stack.let_go(job)
    stack.await_end(job, 60)
    assert stack.state(job) == "COMPLETED"
    assert stack.main_pid("compute1") == daemon
    assert "kube_credential_read" in stack.sh("compute1", "journalctl -u slurm-k8s-bridge -o cat -n 300")


def test_a_node_whose_name_leaves_its_binding_is_refused_at_its_next_request(stack: Stack) -> None:
    caller = of_node(stack, "compute1")
    binding = json.loads(stack.kubectl("-n", stack.namespace, "get", "rolebinding", _BINDING, "-o", "json"))
    others = [subject for subject in binding["subjects"] if subject["name"] != "compute1"]
    assert works(stack, caller) == 200
    words = ("-n", stack.namespace, "patch", "rolebinding", _BINDING, "--type=merge", "-p")
    try:
        stack.kubectl(*words, json.dumps({"subjects": others}))
        eventually(lambda: works(stack, caller) == 403, 5, "a refusal")
        assert works(stack, of_node(stack, "compute2")) == 200
    finally:
        stack.exec("login", "bridgectl", "node", "bind")
    eventually(lambda: works(stack, caller) == 200, 5, "its rights")


def test_a_node_whose_credential_says_no_node_costs_no_job(stack: Stack) -> None:
    """The job waits, is told why, and runs when the node is itself again."""
    unbound = token(stack, "compute1")
    with kubeconfig(stack, "compute1", lambda text: with_token(text, unbound)):
        job = stack.submit(container_job(stack.images["small"], "true"), "-N1", "-w", "compute1")
        hears(stack, job, "node-identity")
    stack.await_end(job, 120)
    assert stack.state(job) == "COMPLETED"


def test_a_certificate_says_the_node_as_well(stack: Stack, tmp_path: Path) -> None:
    """Where tokens are not bound to Nodes. An admin has bound its name; `bind` leaves that there."""
    name = "slurm-k8s-bridge:compute1"
    pair = tmp_path / "pair.pem"
    pair.write_text("".join(client_pair(stack, name, 1)))
    caller = replace(of_node(stack, "compute1"), token="", trust=trust(stack))
    caller.trust.load_cert_chain(pair)
    words = ("-n", stack.namespace, "patch", "rolebinding", _BINDING, "--type=json", "-p")
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}
    stack.kubectl(*words, json.dumps([{"op": "add", "path": "/subjects/0", "value": user}]))
    try:
        stack.exec("login", "bridgectl", "node", "bind")
        for node, wanted in (("compute1", 201), ("compute2", 403)):
            status, answer = caller.ask("POST", f"{workloads(stack)}?dryRun=All", rendered(stack, 4_000_004, node))
            assert status == wanted, answer
    finally:
        stack.kubectl(*words, json.dumps([{"op": "remove", "path": "/subjects/0"}]))


def test_what_was_revoked_never_comes_to_life_again(stack: Stack) -> None:
    """An account that no daemon has, of the name of a Node."""
    node = json.dumps(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "stolen"}, "spec": {"unschedulable": True}}
    )
    stack.kubectl("create", "-f", "-", stdin=node)
    try:
        stack.exec("login", "bridgectl", "node", "enroll", "stolen")
        thief = replace(of_node(stack, "compute1"), token=token(stack, "stolen", "stolen"))
        eventually(lambda: works(stack, thief) == 200, 5, "its rights")
        stack.exec("login", "bridgectl", "node", "revoke", "stolen")
        eventually(lambda: works(stack, thief) in (401, 403), 5, "a refusal")
        stack.exec("login", "bridgectl", "node", "enroll", "stolen")
        fresh = replace(thief, token=token(stack, "stolen", "stolen"))
        eventually(lambda: works(stack, fresh) == 200, 5, "its rights")
        # The API server remembers for ten seconds whom it has known by a token.
        eventually(lambda: works(stack, thief) == 401, 30, "the end of the old token")
        assert works(stack, fresh) == 200
    finally:
        stack.exec("login", "bridgectl", "node", "revoke", "stolen")
        stack.kubectl("delete", "node", "stolen")
