"""Opening a pod's gate: the one patch that lets a pod be scheduled, on this node and on no other."""

from typing import Any

from bridge import wellknown
from bridge.job.pods import PodFacts


def opening(pod: PodFacts, node: str) -> list[dict[str, Any]]:
    """JSON patch (RFC 6902) that pins the pod to the node, writes its rank and removes the bridge's gate.

    The tests on uid and on the gate's name make it a no-op on any pod but this one. `add` of an
    affinity, not `replace`: a gated pod's affinity may only be narrowed (KEP-3838), and the template
    has none. The pod must have a gate.
    """
    assert pod.gate is not None
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.uid},
        {"op": "test", "path": f"/spec/schedulingGates/{pod.gate}/name", "value": wellknown.GATE},
        {
            "op": "add",
            "path": "/metadata/annotations/" + _escaped(wellknown.ANNOTATION_NODE_RANK),
            "value": str(pod.rank),
        },
        {"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": _exactly(node)}},
        {"op": "remove", "path": f"/spec/schedulingGates/{pod.gate}"},
    ]


def _exactly(node: str) -> dict[str, Any]:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
