"""`bridgectl doctor` on nodes and a cluster that are broken on purpose, and whole again afterwards."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from .nodes import without_daemon
from .specs import container_job
from .stack import Stack, eventually

_KUBECONFIG = "/var/lib/slurm-k8s-bridge/credential/kubeconfig"
_MARKER = "/var/lib/slurm-k8s-bridge/runs/999999"
_POLICY = "slurm-k8s-bridge-workload"
_TAINT = "slurm-k8s-bridge/slurm"
_OPERATOR = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: doctored, namespace: default}
spec:
  replicas: 0
  selector: {matchLabels: {app: doctored}}
  template:
    metadata: {labels: {app: doctored}}
    spec:
      containers:
        - name: it
          image: registry:5000/nobody/training-operator:v1
          args: [--gang-scheduler-name, volcano, --enable-scheme=tfjob, --namespace=elsewhere]
"""
_DAEMONSET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: doctored, namespace: default}
spec:
  selector: {matchLabels: {app: doctored}}
  template:
    metadata: {labels: {app: doctored}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: it, image: IMAGE, command: [sleep, "600"], resources: {requests: {cpu: 100m}}}]
"""


@pytest.fixture(autouse=True)
def no_history(stack: Stack) -> None:
    """What daemons have met last is that all is well, whatever the jobs of other tests have met."""
    stack.run(container_job(stack.images["small"], "true"), "--nodes=2")


def doctored(stack: Stack, node: str, *words: str) -> tuple[int, dict[str, str], set[str]]:
    """Exit code, the state of each check, and the names of what was told."""
    script = f"bridgectl doctor -o json {' '.join(words)}; echo $?"
    text, _, code = stack.sh(node, script).rstrip().rpartition("\n")
    answer: dict[str, Any] = json.loads(text)
    assert answer["exit"] == int(code)
    told = [each for check in answer["checks"] for each in check["told"]]
    assert all(each["cause"] and each["consequence"] and each["cure"] for each in told)
    return int(code), {check["name"]: check["state"] for check in answer["checks"]}, {each["name"] for each in told}


def told_under(stack: Stack, node: str, environment: str) -> set[str]:
    """The names of what doctor tells with these variables in its environment."""
    script = f"{environment} bridgectl doctor -o json --image {stack.images['small']} || true"
    answer: dict[str, Any] = json.loads(stack.sh(node, script))
    return {each["name"] for check in answer["checks"] for each in check["told"]}


def examined(stack: Stack, node: str) -> tuple[int, dict[str, str], set[str]]:
    """All of a node."""
    return doctored(stack, node, "--image", stack.images["small"])


def is_good(stack: Stack, node: str) -> bool:
    """Whether nothing is found, and everything known."""
    code, states, _ = examined(stack, node)
    return code == 0 and set(states.values()) == {"good"}


@contextmanager
def changed(stack: Stack, node: str, change: str, back: str) -> Iterator[None]:
    """A line of shell, and the one that undoes it."""
    try:
        stack.sh(node, change)
        yield
    finally:
        stack.sh(node, back)


@contextmanager
def applied(stack: Stack, text: str) -> Iterator[None]:
    """Objects that an admin made, for a while."""
    try:
        stack.kubectl("apply", "-f", "-", stdin=text)
        yield
    finally:
        stack.kubectl("delete", "--ignore-not-found", "--cascade=foreground", "-f", "-", stdin=text)


@contextmanager
def without(stack: Stack, *words: str) -> Iterator[None]:
    """An object of the cluster is gone, and comes back as it was."""
    item = json.loads(stack.kubectl("get", *words, "-o", "json"))
    item["metadata"] = {
        name: item["metadata"][name] for name in ("name", "namespace", "labels") if name in item["metadata"]
    }
    item.pop("status", None)
    try:
        stack.kubectl("delete", *words)
        yield
    finally:
        stack.kubectl("apply", "-f", "-", stdin=json.dumps(item))


@contextmanager
def without_taint(stack: Stack, node: str) -> Iterator[None]:
    """Anything may land on this node."""
    try:
        stack.kubectl("taint", "nodes", node, f"{_TAINT}-")
        yield
    finally:
        stack.kubectl("taint", "--overwrite", "nodes", node, f"{_TAINT}:NoSchedule")


@contextmanager
def slurm_conf(stack: Stack) -> Iterator[None]:
    """Flags that the bridge cannot live by."""
    edits = ("s/^PrologFlags=.*/PrologFlags=Alloc,NoHold/", "s/^KillWait=.*/KillWait=5/", "s/nohold_on_prolog_fail,//")
    with stack.slurm_conf(*edits):
        assert "DeferBatch" not in stack.sh("slurmctld", "scontrol show config | grep ^PrologFlags")
        yield


def test_nodes_that_are_whole_pass_and_what_nobody_can_tell_is_not_good(stack: Stack) -> None:
    for node in stack.nodes:
        code, states, told = examined(stack, node)
        assert (code, told, set(states.values())) == (0, set(), {"good"}), (states, told)
    code, states, told = doctored(stack, "compute1")
    assert code == 2 and told == {"image-untried"} and states.pop("images") == "unknown"
    assert set(states.values()) == {"good"}
    assert "19 checks: 18 good, 1 unknown" in stack.sh("compute1", "bridgectl doctor || true")
    refused = stack.exec("compute1", "bridgectl", "doctor", check=False, user="ml")
    assert refused == "", "only root sees all of it"


def test_what_is_broken_on_a_node_is_found_without_its_daemon_too(stack: Stack) -> None:
    with ExitStack() as broken:
        broken.enter_context(changed(stack, "compute1", f"chmod 644 {_KUBECONFIG}", f"chmod 600 {_KUBECONFIG}"))
        hook = "/etc/slurm/prolog.d/50-slurm-k8s-bridge"
        broken.enter_context(changed(stack, "compute1", f"chmod 644 {hook}", f"chmod 755 {hook}"))
        epilog = "/etc/slurm/epilog.d/50-slurm-k8s-bridge"
        broken.enter_context(changed(stack, "compute1", f"chmod 777 {epilog}", f"chmod 755 {epilog}"))
        config = "/etc/slurm-k8s-bridge/bridge.toml"
        broken.enter_context(changed(stack, "compute1", f"chmod 666 {config}", f"chmod 644 {config}"))
        order = "systemctl disable slurm-k8s-bridge-user.socket", "systemctl enable slurm-k8s-bridge-user.socket"
        broken.enter_context(changed(stack, "compute1", *order))
        broken.enter_context(changed(stack, "compute1", f"echo '{{}}' >{_MARKER}", f"rm -f {_MARKER}"))
        kubelet = "/etc/kubernetes/kubelet.yaml"
        edit = "sed -i s/^cgroupDriver:.*/cgroupDriver:"
        broken.enter_context(
            changed(stack, "compute1", f"{edit}\\ systemd/ {kubelet}", f"{edit}\\ cgroupfs/ {kubelet}")
        )
        broken.enter_context(without_daemon(stack, "compute1"))
        broken.enter_context(stack.registry_answering("503"))
        code, states, told = examined(stack, "compute1")
    assert code == 1
    assert told == {
        "kubeconfig-open",
        "hook-not-run",
        "hook-open",
        "config-open",
        "marker-left",
        "unit-not-enabled",
        "cgroups-differ",
        "socket-missing",
        "doctor-daemon-silent",
        "leftovers-unknown",
        "image-not-pulled",
    }
    assert {name for name, state in states.items() if state == "good"} == {
        "interpreter",
        "rights",
        "workloads",
        "policies",
        "identity",
        "kubelet",
        "slurm-conf",
        "slurmrestd",
        "resources",
        "clocks",
    }
    eventually(lambda: is_good(stack, "compute1"), 30, "a whole node")


def test_what_does_not_fit_slurm_and_kubernetes_is_found(stack: Stack) -> None:
    keys: dict[str, Any] = {
        "pod": {"max_cpus": 640, "max_memory": "9000Gi"},
        "gpu": {"resource": "example.com/none"},
        "timing": {"prolog_deadline": 3590.0, "epilog_deadline": 3590.0},
        "kubernetes": {"kubelet_healthz": "http://127.0.0.1:1/healthz"},
        "slurmrest": {"url": "https://slurmrestd:6821"},
    }
    with ExitStack() as broken:
        broken.enter_context(stack.configured("compute1", **keys))
        broken.enter_context(changed(stack, "compute1", "chmod 666 /run/slurm-k8s-bridge/hook.sock", "true"))
        broken.callback(stack.sh, "compute1", "chmod 600 /run/slurm-k8s-bridge/hook.sock")
        broken.enter_context(without_taint(stack, "compute1"))
        broken.enter_context(without(stack, "validatingadmissionpolicybinding", _POLICY))
        broken.enter_context(without(stack, "rolebinding", "-n", stack.namespace, "slurm-k8s-bridge"))
        broken.enter_context(slurm_conf(stack))
        wanted = {
            "taint-missing",
            "right-missing",
            "socket-open",
            "kubelet-unwell",
            "slurmrestd-refuses",
            "gpus-differ",
        }
        wanted |= {"cpus-too-many", "memory-too-much", "prolog-flag-missing", "prolog-flag-bad", "kill-wait-short"}
        wanted |= {"holds-on-prolog-fail", "prolog-timeout-short", "batch-start-short", "epilog-timeout-short"}
        eventually(lambda: wanted <= examined(stack, "compute1")[2], 30, "all that is broken")
        stack.kubectl("create", "-f", "-", stdin=_BINDING.replace("NAMESPACE", stack.namespace))
        broken.callback(stack.kubectl, "delete", "rolebinding", "-n", stack.namespace, "doctored")
        eventually(lambda: "policy-not-in-force" in examined(stack, "compute1")[2], 30, "a node that may do all")
    eventually(lambda: is_good(stack, "compute1"), 60, "a whole node")


_BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: doctored, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: slurm-k8s-bridge}
subjects: [{kind: ServiceAccount, name: compute1, namespace: slurm-k8s-bridge}]
"""


_ORDER = "/etc/systemd/system/slurm-k8s-bridge.service"
_BOOT = "/proc/sys/kernel/random/boot_id"


def test_a_machine_that_is_another_one_or_lacks_its_python_is_found(stack: Stack) -> None:
    with ExitStack() as broken:
        broken.enter_context(
            changed(stack, "compute1", "mv /usr/bin/python3 /usr/bin/.python3", "mv /usr/bin/.python3 /usr/bin/python3")
        )
        unit = "/usr/lib/systemd/system/slurm-k8s-bridge.service"
        late = f"sed '/^Before=/d' {unit} >{_ORDER} && systemctl daemon-reload"
        broken.enter_context(changed(stack, "compute1", late, f"rm {_ORDER} && systemctl daemon-reload"))
        other = f"cat /proc/sys/kernel/random/uuid >/run/other-boot && mount --bind /run/other-boot {_BOOT}"
        broken.enter_context(changed(stack, "compute1", other, f"umount {_BOOT}"))
        code, _, told = examined(stack, "compute1")
        assert code == 1
        assert told >= {"python-unusable", "unit-after-slurmd", "node-other"}
    eventually(lambda: is_good(stack, "compute1"), 30, "a whole node")


def test_a_clock_that_is_wrong_is_found(stack: Stack) -> None:
    library = stack.sh("compute1", "ls /usr/lib/*/faketime/libfaketime.so.1").strip()
    assert "doctor-clock-off" in told_under(stack, "compute1", f"LD_PRELOAD={library} FAKETIME=+5m")
    assert "doctor-clock-off" not in told_under(stack, "compute1", f"LD_PRELOAD={library} FAKETIME=+5s")


def test_a_user_with_too_few_rights_for_its_tier_is_found(stack: Stack) -> None:
    with stack.service_token("service", "compute1") as keys:
        assert "service-user-low" not in examined(stack, "compute1")[2]
        with stack.configured("compute1", slurmrest=keys | {"tier": "administrator"}):
            assert "service-user-low" in examined(stack, "compute1")[2]
    eventually(lambda: is_good(stack, "compute1"), 30, "a whole node")


_CRD = "pytorchjobs.kubeflow.org"
_SPEC = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/nprocPerNode"


def test_an_operator_that_is_too_old_is_found(stack: Stack) -> None:
    """Its PyTorchJob lacks a field that the bridge writes."""
    crd = json.loads(stack.kubectl("get", "crd", _CRD, "-o", "json"))
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    field = spec["properties"]["nprocPerNode"]
    stack.kubectl("patch", "crd", _CRD, "--type=json", "-p", json.dumps([{"op": "remove", "path": _SPEC}]))
    try:
        eventually(lambda: "operator-old" in examined(stack, "compute1")[2], 30, "a PyTorchJob of long ago")
    finally:
        back = [{"op": "add", "path": _SPEC, "value": field}]
        stack.kubectl("patch", "crd", _CRD, "--type=json", "-p", json.dumps(back))
    eventually(lambda: is_good(stack, "compute1"), 60, "a whole node")


def test_a_kubeconfig_of_another_node_and_a_name_that_kubernetes_does_not_know(stack: Stack) -> None:
    other = stack.sh("compute2", f"cat {_KUBECONFIG}")
    kept = stack.sh("compute1", f"cat {_KUBECONFIG}")
    try:
        stack.exec("compute1", "sh", "-c", f"cat >{_KUBECONFIG}", stdin=other)
        assert examined(stack, "compute1")[2] >= {"kubeconfig-of-another"}
        stack.exec("compute1", "sh", "-c", f"echo nothing >{_KUBECONFIG}")
        code, states, told = examined(stack, "compute1")
        assert code == 1 and states["rights"] == "unknown" and {"kubernetes-refuses", "unlooked"} <= told
    finally:
        stack.exec("compute1", "sh", "-c", f"cat >{_KUBECONFIG}", stdin=kept)
    with stack.configured("compute1", cluster={"node_name": "{nodename}.elsewhere"}):
        assert "node-none" in examined(stack, "compute1")[2]
    eventually(lambda: is_good(stack, "compute1"), 60, "a whole node")


def test_what_is_broken_in_the_cluster_is_found(stack: Stack) -> None:
    _, states, told = doctored(stack, "login", "--cluster")
    assert told == {"operator-unseen"} and states.pop("operator") == "unknown", "the stack's runs beside the cluster"
    assert set(states.values()) == {"good"}
    mark = "slurm-k8s-bridge/jobs"
    with ExitStack() as broken:
        broken.enter_context(applied(stack, _OPERATOR))
        broken.enter_context(applied(stack, _DAEMONSET.replace("IMAGE", stack.images["small"])))
        broken.enter_context(without(stack, "validatingadmissionpolicybinding", _POLICY))
        broken.enter_context(without(stack, "validatingadmissionpolicy", "slurm-k8s-bridge-guard"))
        broken.callback(stack.kubectl, "label", "--overwrite", "namespace", stack.namespace, f"{mark}=true")
        stack.kubectl("label", "namespace", stack.namespace, f"{mark}-")
        wanted = {"operator-down", "operator-gang", "operator-without-pytorch", "operator-elsewhere", "policy-missing"}
        wanted |= {"policy-unbound", "jobs-namespace-unmarked", "daemonsets-in-the-way"}
        eventually(lambda: doctored(stack, "login", "--cluster")[2] == wanted, 30, "all that is broken")
    eventually(lambda: doctored(stack, "login", "--cluster")[2] == {"operator-unseen"}, 30, "a whole cluster")
