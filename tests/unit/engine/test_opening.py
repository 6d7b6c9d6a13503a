"""The patch that opens a gate, and what a refusal of it says: it is this very pod, and it is open, or neither."""

import json

import pytest

from bridge import wellknown
from bridge.engine import activities as do
from bridge.engine import events
from bridge.errors import Conflict, Invalid
from bridge.job.gate import opening
from tests.fakes.kubernetes import FakeKubernetes

from .story import Story, batch, pod
from .trying import NAMESPACE, pod_object, work


@pytest.fixture
def story() -> Story:
    """Its own pod is there, behind its gate."""
    return batch(1).created().sees(pod(0))


def there(kube: FakeKubernetes, uid: str, *, gated: bool) -> None:
    """The pod as the API server has it."""
    made = pod_object(uid, node="")
    made["spec"]["schedulingGates"] = [{"name": wellknown.GATE}] if gated else []
    kube.put("pod", made)


OPEN = do.OpenGate("slurm-demo-7-0-worker-0", "pod-0", json.dumps(opening(pod(0), "compute1")), 0)


def test_it_opens_this_pods_gate(story: Story) -> None:
    kube = FakeKubernetes()
    there(kube, "pod-0", gated=True)
    assert isinstance(work(kube, OPEN, story), events.GateOpened)
    assert not kube.pod(NAMESPACE, OPEN.pod)["spec"]["schedulingGates"]


def test_one_whose_answer_was_lost_is_found_open(story: Story) -> None:
    kube = FakeKubernetes()
    there(kube, "pod-0", gated=False)
    event = work(kube, OPEN, story)
    assert isinstance(event, events.GateOpened) and event.uid == "pod-0"


@pytest.mark.parametrize("gated", [True, False])
def test_another_pod_of_that_name_is_neither_opened_nor_taken_for_this_one(story: Story, gated: bool) -> None:
    kube = FakeKubernetes()
    there(kube, "its successor", gated=gated)
    assert work(kube, OPEN, story) is None
    assert bool(kube.pod(NAMESPACE, OPEN.pod)["spec"]["schedulingGates"]) is gated


@pytest.mark.parametrize("refusal", [Conflict, Invalid])
def test_a_gate_that_is_still_there_was_not_opened(story: Story, refusal: type[Conflict] | type[Invalid]) -> None:
    kube = FakeKubernetes()
    there(kube, "pod-0", gated=True)
    kube.faults.fail("patch_pod", refusal("the object has been modified"))
    with pytest.raises(refusal):
        work(kube, OPEN, story)


def test_a_pod_that_is_gone_has_no_gate(story: Story) -> None:
    assert work(FakeKubernetes(), OPEN, story) is None
