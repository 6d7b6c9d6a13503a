import pytest

from bridge.slurm.states import is_over, is_waiting_in_prolog, why_over


@pytest.mark.parametrize(
    ("states", "why"),
    [
        ("CANCELLED COMPLETING", "cancelled"),
        ("PENDING", "requeued"),
        ("PENDING REQUEUED COMPLETING", "requeued"),
        ("PENDING REQUEUE_HOLD", "requeued"),
        ("TIMEOUT COMPLETING", "time limit"),
        ("DEADLINE", "time limit"),
        ("PREEMPTED COMPLETING", "preempted"),
        ("NODE_FAIL", "node failure"),
        ("NODE_FAIL REQUEUED", "node failure"),
        ("OUT_OF_MEMORY", "out of memory"),
        ("FAILED", "failed"),
        ("COMPLETED", "completed"),
        ("RUNNING COMPLETING", "ended"),
    ],
)
def test_a_run_that_is_over(states: str, why: str) -> None:
    words = frozenset(states.split())
    assert is_over(words)
    assert not is_waiting_in_prolog(words)
    assert why_over(words) == why


@pytest.mark.parametrize("states", ["RUNNING", "RUNNING CONFIGURING", "CONFIGURING", "RUNNING RESIZING"])
def test_a_run_in_its_prolog(states: str) -> None:
    words = frozenset(states.split())
    assert is_waiting_in_prolog(words)
    assert not is_over(words)


@pytest.mark.parametrize("states", ["", "SUSPENDED", "SOMETHING_NEW"])
def test_unknown_is_not_over(states: str) -> None:
    words = frozenset(states.split())
    assert not is_over(words)
    assert not is_waiting_in_prolog(words)
