"""What a daemon does where Kubernetes holds it to its own node."""

import copy
import json

import pytest

from bridge.engine import activities as do
from bridge.engine import events
from bridge.errors import Forbidden
from tests.fakes.kubernetes import FakeKubernetes

from .story import batch
from .trying import met, work
from .world import NAMESPACE

_DENIED = Forbidden("denied request: delete-workload: the workload does not name this node", status=403)


def test_an_older_run_of_other_nodes_is_theirs_to_delete() -> None:
    kube, story = FakeKubernetes(), batch(1).began().learned()
    older = copy.deepcopy(json.loads(story.run.manifest))
    older["metadata"] |= {"annotations": {"slurm-k8s-bridge/nodes": "compute9"}, "namespace": NAMESPACE}
    kube.put("workload", older)
    kube.faults.fail("delete_workload", _DENIED)
    assert met(kube, do.CreateWorkload(story.run.manifest, 0), story) == "predecessor"


@pytest.mark.parametrize(("bound_to", "source"), [("compute7", "compute7"), ("", "compute1")])
def test_a_node_tells_of_itself_by_the_name_that_kubernetes_knows(bound_to: str, source: str) -> None:
    """Also where it takes itself for another one: nobody believes what a node tells in another's name."""
    kube, story = FakeKubernetes(), batch(1).created()
    kube.bound_to = bound_to
    for _ in range(2):
        counted = work(kube, do.CountNodeFaults("compute1", "it is broken", 0), story)
        assert isinstance(counted, events.NodeFaultsCounted)
        assert counted.others == 0, "its own do not count"
    told = kube.events_because(NAMESPACE, "SlurmNodeFault")
    assert [event["source"]["host"] for event in told] == [source]
