"""One try of an activity over the fakes, and what comes of it."""

from collections.abc import Callable

import pytest

from bridge import wellknown
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.cluster_work import ClusterWork
from bridge.engine.executor import Task, Work
from bridge.engine.logs import LogHub
from bridge.engine.node_work import NodeWork
from bridge.engine.release_work import ReleaseWork
from bridge.errors import Observed
from bridge.kube.api import Object
from tests.fakes.kubelet import FakeKubelet
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, START, Story

NAMESPACE = CONFIG.kubernetes.namespace


def works(kube: FakeKubernetes) -> dict[type[do.Activity], Work]:
    """What a node does whose kernel has the bootID "boot"."""
    node = NodeWork(CONFIG, kube, FakeKubelet(), str, "boot")
    works = ClusterWork(CONFIG, kube, LogHub(kube), tuple).works() | node.works()
    return works | ReleaseWork(CONFIG, kube, "compute1", list).works()


def work(
    kube: FakeKubernetes,
    activity: do.Activity,
    story: Story,
    post: Callable[[events.Event], None] = lambda _event: None,
) -> events.Event | None:
    """One try of an activity; ``post`` takes what it tells on the way."""
    return works(kube)[type(activity)](Task(story.run, activity, post))


def met(kube: FakeKubernetes, activity: do.Activity, story: Story) -> str:
    """Name of the row for which this activity asks for another try."""
    with pytest.raises(Observed) as raised:
        work(kube, activity, story)
    return raised.value.fault


def pod_object(uid: str, node: str = "compute1", **labels: str) -> Object:
    """A worker of the run, as the API server has it."""
    told = {wellknown.LABEL_RUN: "slurm-demo-7-0", wellknown.OPERATOR_LABEL_INDEX: "0"} | labels
    metadata = {
        "name": "slurm-demo-7-0-worker-0",
        "namespace": NAMESPACE,
        "uid": uid,
        "labels": told,
        "annotations": {wellknown.ANNOTATION_START: str(START)},
    }
    return {"metadata": metadata, "spec": {"nodeName": node, "containers": [{"name": "pytorch"}]}, "status": {}}
