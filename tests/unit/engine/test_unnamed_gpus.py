"""Slurm gives GPUs of a node and tells its prolog of none: no pod starts there, and the job has another try.

Whoever came next would take such a run for one without GPUs, and not wait until they are free.
"""

from dataclasses import replace

import pytest

from bridge.engine import wanted

from .test_node_at_fault import quick
from .world import World

MISSING = "Slurm gave GPUs of {} and named none of them to its prolog (SLURM_JOB_GPUS is missing)"


def test_the_batch_node_makes_no_workload(world: World) -> None:
    node, job = quick(world), replace(world.job(), unnamed=("n1",))
    answer = node.prolog(job).answer()
    assert (answer["exit"], answer["requeue"]) == (0, {"job": "7", "hold": False})
    assert MISSING.format("n1") in answer["message"]
    assert world.workloads_ever() == 0
    assert node.epilog(job).exit() == 0
    world.left_nothing()


def test_another_node_keeps_its_gate_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch node was told of its own."""
    monkeypatch.setattr(wanted, "_POD_EVENTS_AFTER", 0.05)
    first, second = quick(world, "n1"), quick(world, "n2")
    job = replace(world.job("n1", "n2"), unnamed=("n2",))
    hooks = [first.prolog(job), second.prolog(job)]
    answer = hooks[0].answer()
    assert (answer["exit"], answer["requeue"]) == (0, {"job": "7", "hold": False})
    assert MISSING.format("n2") in answer["message"]
    assert hooks[1].exit() == 0
    assert second.run(job).opened == "" and first.run(job).opened != ""
    assert first.epilog(job).exit() == second.epilog(job).exit() == 0
    world.left_nothing()


def test_a_job_without_gpus_is_told_of_none_and_starts(world: World) -> None:
    node, job = quick(world), world.job(gpus=0)
    assert node.prolog(job).exit() == 0
    node.until(lambda run: run.opened, job)  # the pod may be seen to run before the patch has its answer
    assert node.epilog(job).exit() == 0
