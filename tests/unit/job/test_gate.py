"""The patch that opens a gate: what it tests before it changes anything, and what it changes."""

from dataclasses import replace

from bridge import wellknown
from bridge.job.gate import opening
from tests.unit.engine.story import pod


def test_it_tests_the_pod_and_the_gate_before_it_changes_anything() -> None:
    patch = opening(replace(pod(3), uid="u-3", gate=1), "n3")
    assert patch[:2] == [
        {"op": "test", "path": "/metadata/uid", "value": "u-3"},
        {"op": "test", "path": "/spec/schedulingGates/1/name", "value": wellknown.GATE},
    ]
    assert [step["op"] for step in patch[2:]] == ["add", "add", "remove"]


def test_it_removes_its_own_gate_alone() -> None:
    removed = [step["path"] for step in opening(replace(pod(3), gate=1), "n3") if step["op"] == "remove"]
    assert removed == ["/spec/schedulingGates/1"]


def test_it_pins_the_pod_to_this_node_and_says_its_rank() -> None:
    added = {step["path"]: step["value"] for step in opening(replace(pod(3), gate=0), "n3") if step["op"] == "add"}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n3"]}]}
    assert added == {
        "/metadata/annotations/slurm-k8s-bridge~1node-rank": "3",
        "/spec/affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        },
    }
