"""A seed is all that a run of chaos is drawn from."""

import math
from itertools import islice

import pytest

from tests.chaos.mixes import MIXES, USUAL
from tests.chaos.plan import BAD_SPECS, SILENCING, Fault, Harm, Kind, Mix, Server, faults, lifecycles, pod_life
from tests.failpoints import failpoint, hooks

MANY = 3000


def test_the_same_seed_gives_the_same() -> None:
    assert list(islice(lifecycles(5, 8, USUAL), 50)) == list(islice(lifecycles(5, 8, USUAL), 50))
    assert list(islice(faults(5, 8, 2.0, USUAL), 50)) == list(islice(faults(5, 8, 2.0, USUAL), 50))
    of = next(lifecycles(5, 8, USUAL))
    assert pod_life(5, of, 0, 0, USUAL) == pod_life(5, of, 0, 0, USUAL)


def test_another_seed_gives_another() -> None:
    assert list(islice(lifecycles(5, 8, USUAL), 50)) != list(islice(lifecycles(6, 8, USUAL), 50))
    assert list(islice(faults(5, 8, 2.0, USUAL), 50)) != list(islice(faults(6, 8, 2.0, USUAL), 50))


@pytest.mark.parametrize("mix", MIXES.values(), ids=MIXES)
def test_a_mix_has_what_it_is_made_of(mix: Mix) -> None:
    assert {life.kind for life in islice(lifecycles(1, 8, mix), MANY)} == set(mix.kinds)
    assert {fault.harm for fault in islice(faults(1, 8, 2.0, mix), MANY)} == set(mix.harms)
    assert mix.seeks <= {*failpoint.PLACES, *hooks.PLACES}
    lives = [life for life in islice(lifecycles(1, 8, mix), MANY) if life.kind is Kind.STUBBORN]
    lingers = [max(pod_life(1, life, rank, 0, mix).lingers for rank in range(life.nodes)) for life in lives]
    assert min(lingers, default=math.inf) > mix.epilog_deadline, "what is stubborn outlives the deadline"


def test_everything_comes_about() -> None:
    lives = list(islice(lifecycles(1, 8, USUAL), MANY))
    assert {kind for mix in MIXES.values() for kind in mix.kinds} == set(Kind)
    assert {life.nodes for life in lives} == set(range(1, 9))
    assert {life.bad_spec for life in lives} == set(BAD_SPECS)
    struck = list(islice(faults(1, 8, 2.0, USUAL), MANY))
    assert {fault.harm for fault in struck} == set(USUAL.harms)
    assert {harm for mix in MIXES.values() for harm in mix.harms} == set(Harm)
    assert {fault.node for fault in struck} == set(range(8))


def test_no_job_is_larger_than_the_cluster() -> None:
    assert {life.nodes for life in islice(lifecycles(1, 2, USUAL), MANY)} == {1, 2}


def test_faults_come_as_often_as_they_shall() -> None:
    struck = list(islice(faults(1, 8, 2.0, USUAL), MANY))
    assert struck == sorted(struck, key=lambda fault: fault.at)
    assert 1.8 < struck[-1].at / MANY < 2.2


@pytest.mark.parametrize("harm", Harm)
def test_a_daemon_that_is_spared_is_silenced_by_no_fault(harm: Harm) -> None:
    drawn = Fault(1.0, harm, 2, Server.SLURM, 3.0, 0.5)
    assert drawn.beside([False] * 3) == drawn
    if harm in SILENCING:
        assert drawn.beside([True, False, True]) == Fault(1.0, harm, 1, Server.SLURM, 3.0, 0.5)
        assert drawn.beside([True] * 3) is None
    else:
        assert drawn.beside([True] * 3) == drawn


def test_of_a_failing_training_one_rank_fails() -> None:
    for life in islice(lifecycles(1, 8, USUAL), MANY):
        codes = [pod_life(1, life, rank, 0, USUAL).code for rank in range(life.nodes)]
        assert sum(code != 0 for code in codes) == (life.kind is Kind.FAILURE)


def test_a_pod_of_another_run_lives_another_life() -> None:
    life = next(each for each in lifecycles(1, 8, USUAL) if each.kind is Kind.REQUEUE)
    assert pod_life(1, life, 0, 0, USUAL) != pod_life(1, life, 0, 1, USUAL)
