"""The demo's pure parts: it must see a job that goes wrong."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.demo import checks
from tests.demo.errors import DemoError
from tests.demo.moments import Moment, Story, Told, What

NODES = ["compute1", "compute2"]
LINES = {
    "sched/backfill: _start_job: Started JobId=7 in main on compute[1-2]": (What.ALLOCATED, "compute[1-2]"),
    "sched: Allocate JobId=7 NodeList=compute[1-2] #CPUs=4 Partition=main": (What.ALLOCATED, "compute[1-2]"),
    "[7.batch] task 0 (1732) started 2026-11-20T20:04:25": (What.SCRIPT_STARTED, "on compute1"),
    "_job_complete: JobId=7 WEXITSTATUS 0": (What.FINISHED, "script ended, WEXITSTATUS 0"),
    "_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId=7 uid 2001": (What.FINISHED, "cancelled"),
    "_job_complete: JobId=7 done": None,
    "_job_complete: JobId=77 WEXITSTATUS 0": None,
    "[77.batch] task 0 (1732) started 2026-11-20T20:04:25": None,
    "_slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=717": None,
}


@pytest.mark.parametrize(("line", "station"), LINES.items())
def test_lines_of_slurms_logs(line: str, station: tuple[What, str] | None) -> None:
    moments = Story(7).take(Told(1.0, "compute1", f"[2026-11-20T20:04:25.073] {line}"))
    assert [(moment.what, moment.detail) for moment in moments] == ([] if station is None else [station])


def pod(rank: int, kind: str = "MODIFIED", *, gated: bool = False, ready: bool = False, job: int = 7) -> dict[str, Any]:
    """A watch event of one pod; an open gate comes with rank and affinity, as the bridge sets them."""
    node = f"compute{rank + 1}"
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    opened: dict[str, Any] = {"affinity": {"nodeAffinity": required}, "nodeName": node if ready else ""}
    return {
        "type": kind,
        "object": {
            "metadata": {
                "name": f"slurm-demo-{job}-0-worker-{rank}",
                "labels": {"slurm-k8s-bridge/job": str(job), "training.kubeflow.org/replica-index": str(rank)},
                "annotations": {} if gated else {"slurm-k8s-bridge/node-rank": str(rank)},
            },
            "spec": {"schedulingGates": [{"name": "slurm-k8s-bridge/node"}]} if gated else opened,
            "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
        },
    }


def workload(kind: str) -> dict[str, Any]:
    """A watch event of the PyTorchJob."""
    return {"type": kind, "object": {"metadata": {"name": "slurm-demo-7-0", "labels": {"slurm-k8s-bridge/job": "7"}}}}


def tellings() -> Iterator[Told]:
    """What watchers are told of a job that is as it should be."""
    yield Told(1, "slurmctld", "sched: Allocate JobId=7 NodeList=compute[1-2] #CPUs=4")
    yield Told(2, "pytorchjobs", workload("ADDED"))
    yield from (Told(3, "pods", pod(rank, "ADDED", gated=True)) for rank in (0, 1))
    yield from (Told(4 + rank, "pods", pod(rank)) for rank in (0, 1))
    yield from (Told(6 - rank, "pods", pod(rank, ready=True)) for rank in (0, 1))
    yield Told(7, "compute1", "[7.batch] task 0 (1) started")
    yield Told(8, "slurmctld", "_job_complete: JobId=7 WEXITSTATUS 0")
    yield Told(9, "nodes", dict.fromkeys(NODES, "completing"))
    yield from (Told(10, "pods", pod(rank, "DELETED", ready=True)) for rank in (0, 1))
    yield Told(11, "pytorchjobs", workload("DELETED"))
    yield Told(12, "nodes", dict.fromkeys(NODES, "idle"))


def told(*, without: int | None = None, late: int | None = None) -> Story:
    """The story of that job; one telling left out, or later than all others."""
    story = Story(7, moments=[Moment(0, What.SUBMITTED, "job 7")])
    for number, telling in enumerate(tellings()):
        if number != without:
            story.take(Told(14, telling.source, telling.body) if number == late else telling)
    return story


def test_a_good_job_passes() -> None:
    story = told()
    checks.timeline(story, NODES)
    checks.placement(story, NODES)
    assert story.is_free and story.is_empty_again


def test_another_job_is_not_seen() -> None:
    story = Story(8)
    assert [moment for telling in tellings() if telling.source != "nodes" for moment in story.take(telling)] == []


@pytest.mark.parametrize("number", [0, 1, 6, 7, 8, 9, 11, 13, 14])
def test_a_missing_station_is_found(number: int) -> None:
    with pytest.raises(DemoError):
        checks.timeline(told(without=number), NODES)


@pytest.mark.parametrize("number", [0, 1, 4, 6, 8, 9, 11])
def test_a_wrong_order_is_found(number: int) -> None:
    with pytest.raises(DemoError, match="before"):
        checks.timeline(told(late=number), NODES)


def test_a_pod_that_was_never_gated_is_found() -> None:
    with pytest.raises(DemoError, match="behind its gate"):
        checks.placement(told(without=2), NODES)


def test_a_wrong_order_of_nodes_is_found() -> None:
    with pytest.raises(DemoError, match="in their order"):
        checks.placement(told(), NODES[::-1])


OUTPUT = "rank 0 of 2 on compute1\nrank 1 of 2 on compute2\nfinal loss 0.123456\n"


def test_output() -> None:
    checks.output(OUTPUT, NODES)
    for line in OUTPUT.splitlines():
        with pytest.raises(DemoError, match="output file"):
            checks.output(OUTPUT.replace(line, "something else"), NODES)


@pytest.mark.parametrize("text", ["", "k8s=train.yaml", "k8s=train.yaml | k8s: 2/2 pods ready on compute[1-2]"])
def test_comment(text: str) -> None:
    checks.comment("k8s=train.yaml | k8s: finished: 2/2 ranks exited 0; ready after 12 s", "k8s=train.yaml", 2)
    with pytest.raises(DemoError, match="comment"):
        checks.comment(text, "k8s=train.yaml", 2)


def test_accounting() -> None:
    checks.accounting("COMPLETED", "0:0")
    with pytest.raises(DemoError, match="FAILED 3:0"):
        checks.accounting("FAILED", "3:0")


def test_daemons() -> None:
    checks.daemons({"compute1": "20:14"}, {"compute1": "20:14"})
    with pytest.raises(DemoError, match="bridged on compute1"):
        checks.daemons({"compute1": "20:14"}, {"compute1": "20:15"})
