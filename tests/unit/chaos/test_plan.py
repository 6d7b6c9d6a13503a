"""A seed is all that a run of chaos is drawn from."""

from itertools import islice

from tests.chaos.plan import BAD_SPECS, Harm, Kind, faults, lifecycles, pod_life

MANY = 3000


def test_the_same_seed_gives_the_same() -> None:
    assert list(islice(lifecycles(5, 8), 50)) == list(islice(lifecycles(5, 8), 50))
    assert list(islice(faults(5, 8, 2.0), 50)) == list(islice(faults(5, 8, 2.0), 50))
    of = next(lifecycles(5, 8))
    assert pod_life(5, of, 0, 0) == pod_life(5, of, 0, 0)


def test_another_seed_gives_another() -> None:
    assert list(islice(lifecycles(5, 8), 50)) != list(islice(lifecycles(6, 8), 50))
    assert list(islice(faults(5, 8, 2.0), 50)) != list(islice(faults(6, 8, 2.0), 50))


def test_everything_comes_about() -> None:
    lives = list(islice(lifecycles(1, 8), MANY))
    assert {life.kind for life in lives} == set(Kind)
    assert {life.nodes for life in lives} == set(range(1, 9))
    assert {life.bad_spec for life in lives} == set(BAD_SPECS)
    struck = list(islice(faults(1, 8, 2.0), MANY))
    assert {fault.harm for fault in struck} == set(Harm)
    assert {fault.node for fault in struck} == set(range(8))


def test_no_job_is_larger_than_the_cluster() -> None:
    assert {life.nodes for life in islice(lifecycles(1, 2), MANY)} == {1, 2}


def test_faults_come_as_often_as_they_shall() -> None:
    struck = list(islice(faults(1, 8, 2.0), MANY))
    assert struck == sorted(struck, key=lambda fault: fault.at)
    assert 1.8 < struck[-1].at / MANY < 2.2


def test_of_a_failing_training_one_rank_fails() -> None:
    for life in islice(lifecycles(1, 8), MANY):
        codes = [pod_life(1, life, rank, 0).code for rank in range(life.nodes)]
        assert sum(code != 0 for code in codes) == (life.kind is Kind.FAILURE)


def test_a_pod_of_another_run_lives_another_life() -> None:
    life = next(each for each in lifecycles(1, 8) if each.kind is Kind.REQUEUE)
    assert pod_life(1, life, 0, 0) != pod_life(1, life, 0, 1)
