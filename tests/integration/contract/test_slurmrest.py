"""What the bridge relies on at slurmrestd."""

import pytest

from bridge.errors import Forbidden, NotFound, Unauthenticated
from tests.integration.contract.slurm_worlds import Slurm
from tests.integration.stack import eventually


def test_a_job_is_read(slurm: Slurm) -> None:
    first, last = slurm.running_array(2, "words of ml")
    job = slurm.rest.job(slurm.ml, first)
    assert (job.job_id, job.array_job_id, job.array_task_id) == (first, last, 0)
    assert (job.user_name, job.comment, job.batch, job.restart_count) == ("ml", "words of ml", True, 0)
    assert "RUNNING" in job.states
    assert job.start_time > 0
    assert slurm.rest.job(slurm.ml, last).array_task_id == 1


def test_what_slurm_says_clearly(slurm: Slurm) -> None:
    with pytest.raises(NotFound):
        slurm.rest.job(slurm.ml, 9_999_999)
    with pytest.raises(Unauthenticated):
        slurm.rest.job(slurm.revoked, 9_999_999)


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_a_comment_is_of_one_element(slurm: Slurm, chosen: int) -> None:
    elements = slurm.running_array(3, "old")
    slurm.rest.set_comment(slurm.ml, slurm.rest.job(slurm.ml, elements[chosen]), "new | k8s: ünser Satz")
    comments = [slurm.rest.job(slurm.ml, element).comment for element in elements]
    assert comments == ["new | k8s: ünser Satz" if index == chosen else "old" for index in range(3)]


@pytest.mark.parametrize("chosen", [0, 2])
def test_one_element_is_cancelled(slurm: Slurm, chosen: int) -> None:
    elements = slurm.running_array(3, "c")
    victim = slurm.rest.job(slurm.ml, elements[chosen])
    slurm.rest.cancel(slurm.ml, victim)
    eventually(lambda: "CANCELLED" in slurm.rest.job(slurm.ml, victim.job_id).states, 60, "the cancellation")
    rest = [slurm.rest.job(slurm.ml, element) for element in elements if element != victim.job_id]
    assert all("RUNNING" in job.states for job in rest)
    slurm.rest.cancel(slurm.ml, victim)


def test_another_users_job_is_forbidden(slurm: Slurm) -> None:
    (element,) = slurm.running_array(1, "mine")
    job = slurm.rest.job(slurm.ml, element)
    with pytest.raises(Forbidden):
        slurm.rest.set_comment(slurm.other, job, "theirs")
    with pytest.raises(Forbidden):
        slurm.rest.cancel(slurm.other, job)
    assert slurm.rest.job(slurm.ml, element).comment == "mine"


def test_a_node_is_drained_and_resumed(slurm: Slurm) -> None:
    root = slurm.administrator
    try:
        slurm.rest.drain(root, "compute2", "slurm-k8s-bridge slurm-demo-7-0: why")
        slurm.rest.drain(root, "compute2", "another")
        drained = slurm.rest.node(root, "compute2")
        assert "DRAIN" in drained.states and drained.reason == "another"
    finally:
        slurm.rest.resume(root, "compute2")
    resumed = slurm.rest.node(root, "compute2")
    assert "DRAIN" not in resumed.states and resumed.reason == ""
    slurm.rest.resume(root, "compute2")


def test_an_owner_may_neither_drain_nor_lengthen(slurm: Slurm) -> None:
    (element,) = slurm.running_array(1, "mine")
    job = slurm.rest.job(slurm.ml, element)
    assert job.time_limit_minutes is not None
    with pytest.raises(Forbidden):
        slurm.rest.drain(slurm.ml, "compute2", "mine")
    with pytest.raises(Forbidden):
        slurm.rest.set_time_limit(slurm.ml, job, job.time_limit_minutes + 1)
    slurm.rest.set_time_limit(slurm.administrator, job, job.time_limit_minutes + 1)
    assert slurm.rest.job(slurm.ml, element).time_limit_minutes == job.time_limit_minutes + 1


def test_an_operator_tells_lengthens_and_ends_jobs_and_drains_no_node(slurm: Slurm) -> None:
    operator = slurm.an_operator()
    (element,) = slurm.running_array(1, "mine")
    job = slurm.rest.job(operator, element)
    assert job.time_limit_minutes is not None
    slurm.rest.set_comment(operator, job, "mine | k8s: done")
    slurm.rest.set_time_limit(operator, job, job.time_limit_minutes + 1)
    told = slurm.rest.job(slurm.ml, element)
    assert (told.comment, told.time_limit_minutes) == ("mine | k8s: done", job.time_limit_minutes + 1)
    with pytest.raises(Forbidden):
        slurm.rest.drain(operator, "compute2", "theirs")
    slurm.rest.cancel(operator, job)
    eventually(lambda: "CANCELLED" in slurm.rest.job(slurm.ml, element).states, 60, "the cancellation")
