"""The calendar of a node may be set at any time: nothing that a run is judged by moves with it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from bridge import clock
from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.executor import Task
from bridge.engine.node_work import NodeWork
from tests.fakes.cluster import FakeCluster
from tests.fakes.kubelet import FakeKubelet
from tests.fakes.kubernetes import FakeKubernetes

from .story import CONFIG, batch

DAY = 86_400.0


def found(began: float, short_since: float) -> str:
    """The row that a node meets whose calendar said this when the prolog began, and whose kubelet is short of space."""
    kube = FakeKubernetes()
    FakeCluster(kube).add_node("compute1", boot_id="boot", gpus=2)
    stamp = datetime.fromtimestamp(short_since, UTC).isoformat()
    pressure = {"type": "DiskPressure", "status": "True", "lastTransitionTime": stamp}
    kube.edit("node", "", "compute1", lambda node: node["status"].setdefault("conditions", []).append(pressure))
    work = NodeWork(CONFIG, kube, FakeKubelet(), lambda: "", "boot").works()[do.LookAtNode]
    run = replace(batch().created().run, began=clock.now() - 60, clock_offset=began - clock.now() + 60)
    looked = work(Task(run, do.LookAtNode("compute1", "", 0, 0), lambda _event: None))
    assert isinstance(looked, events.NodeLooked)
    return looked.fault


@pytest.mark.parametrize("moved", [0.0, 10 * DAY, -10 * DAY])
@pytest.mark.parametrize("stamped_by_the_new_calendar", [True, False])
def test_what_came_while_the_prolog_waited_may_be_the_images_fault(
    moved: float, stamped_by_the_new_calendar: bool
) -> None:
    began = clock.wall() - 60 - moved
    since = began + 30 + (moved if stamped_by_the_new_calendar else 0)
    assert found(began, since) == ""


def test_what_was_there_before_is_the_nodes() -> None:
    began = clock.wall() - 60
    assert found(began, began - 30) == "node-short"
