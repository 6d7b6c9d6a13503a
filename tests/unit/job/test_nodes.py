"""Which fault of a node its daemon sees, and what is not proven by what it sees."""

from dataclasses import replace

import pytest

from bridge.job.faults import Fault, nodes
from bridge.job.faults.nodes import Look, NodeFacts, node_facts, node_finding

BEGAN = 1_800_000_000.0
LONG_AGO, SINCE = "2026-11-21T09:00:00Z", "2027-01-15T09:00:00Z"
REFUSED = "http://127.0.0.1:10248/healthz: Connection refused"
# As kubelet 1.36 writes it while containerd is stopped.
DOWN = "[container runtime is down, PLEG is not healthy: pleg was last seen active 3m4s ago; threshold is 3m0s]"

FULL = "/var/lib/containerd has 3 MiB free of 204800"
Disks = tuple[str, str]  # full before the job came, full now

WELL = NodeFacts("n1", "boot", "True", "kubelet is posting ready status", (), 2)
LOOK = Look(WELL, "", False, "boot", BEGAN, 2, "nvidia.com/gpu")


def seen(kubelet: str = "", untouched: bool = False, due: int = 2, full: Disks = ("", ""), **node: object) -> Look:
    """A look at a node that is well but for this."""
    facts = replace(WELL, **node)  # type: ignore[arg-type]
    before, now = full
    look = replace(LOOK, node=facts, kubelet=kubelet, pod_untouched=untouched, gpus_due=due)
    return replace(look, full_before=before, full=now)


@pytest.mark.parametrize(
    ("look", "fault", "words"),
    [
        (seen(REFUSED, untouched=True), nodes.KUBELET_DEAD, "the kubelet of n1 is dead (http://127.0.0.1:10248"),
        (seen(REFUSED, ready="Unknown"), nodes.KUBELET_DEAD, "Connection refused"),
        (seen(REFUSED, ready="False"), nodes.KUBELET_DEAD, "systemctl status kubelet"),
        (seen(REFUSED, boot_id="last boot"), nodes.KUBELET_DEAD, "so no pod starts there"),
        (seen(ready="False", ready_message=DOWN), nodes.RUNTIME_DOWN, "of n1 does not work: [container runtime is"),
        (seen(pressures=(("disk space or inodes", BEGAN - 60),)), nodes.NODE_SHORT, "n1 has been short of disk space"),
        (seen(full=(FULL, FULL)), nodes.DISK_FULL, f"a disk of n1 is full, and was before this job came: {FULL}"),
        (seen(gpus=0), nodes.GPUS_GONE, "Kubernetes shows 0 nvidia.com/gpu where Slurm gave 2 on n1"),
        (seen(gpus=1), nodes.GPUS_GONE, "look at the device plugin"),
    ],
)
def test_a_fault_of_the_node_itself(look: Look, fault: Fault, words: str) -> None:
    found = node_finding(look)
    assert found is not None and found.fault == fault
    assert words in found.sentence


@pytest.mark.parametrize(
    "look",
    [
        LOOK,
        seen(REFUSED),
        seen(ready="Unknown", ready_message="Kubelet stopped posting node status."),
        seen(ready="Unknown", ready_message=DOWN),
        seen(ready="False", ready_message="container runtime network not ready: NetworkPluginNotReady cni plugin"),
        seen(ready="False", ready_message="node is shutting down"),
        seen(ready=""),
        seen(pressures=(("disk space or inodes", BEGAN + 1),)),
        seen(full=("", FULL)),
        seen(full=(FULL, "")),
        seen(gpus=0, due=0),
        seen(gpus=0, ready="Unknown"),
        seen(untouched=True),
    ],
    ids=[
        "well",
        "a health port that the site has closed",
        "a kubelet that cannot reach the API server",
        "an old word of a kubelet that cannot reach the API server",
        "a network plugin that every node may lack",
        "a shutdown",
        "a Node without conditions",
        "a disk under pressure since the image came",
        "a disk that filled up while the image came",
        "a disk that somebody has cleared",
        "a device plugin that may come yet",
        "GPUs of a kubelet that nobody has heard of",
        "a pod that a living kubelet has not reached",
    ],
)
def test_what_proves_nothing_against_the_node(look: Look) -> None:
    assert node_finding(look) is None


def test_facts_of_a_node() -> None:
    conditions = [
        {"type": "MemoryPressure", "status": "True", "lastTransitionTime": LONG_AGO},
        {"type": "DiskPressure", "status": "True", "lastTransitionTime": LONG_AGO},
        {"type": "PIDPressure", "status": "False", "lastTransitionTime": LONG_AGO},
        {"type": "Ready", "status": "False", "message": "[container runtime is\n down]"},
    ]
    status = {"nodeInfo": {"bootID": "b"}, "allocatable": {"nvidia.com/gpu": "2"}, "conditions": conditions}
    facts = node_facts({"metadata": {"name": "n1"}, "status": status}, ["nvidia.com/gpu"])
    assert facts == NodeFacts(
        "n1", "b", "False", "[container runtime is down]", (("disk space or inodes", 1795251600.0),), 2
    )


def test_facts_of_next_to_nothing() -> None:
    assert node_facts({}, ["nvidia.com/gpu"]) == NodeFacts("", "", "", "", (), 0)
    odd = {
        "status": {
            "allocatable": {"nvidia.com/gpu": "many"},
            "conditions": [{"type": "DiskPressure", "status": "True"}],
        }
    }
    facts = node_facts(odd, ["nvidia.com/gpu"])
    assert facts.gpus == 0
    assert node_finding(replace(LOOK, node=replace(facts, ready="True"), gpus_due=0)) is None, "a time that is unknown"
