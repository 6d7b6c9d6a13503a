"""What a failpoint lets through, and what not."""

import pytest

from bridge.errors import NotFound, RemoteError, Unavailable
from tests.failpoints.failpoint import Failpoints, named


def never() -> None:
    raise AssertionError("nothing here is killed")


def failing(error: RemoteError) -> tuple[Failpoints, pytest.ExceptionInfo[RemoteError]]:
    """What comes of a call that fails so where its answer is to be lost."""
    points = Failpoints()
    points.arm(named("fail-after-kubernetes.pod"))

    def act() -> None:
        raise error

    with pytest.raises(RemoteError) as raised:
        points.around("kubernetes.pod", act, never)
    return points, raised


def test_an_answer_that_says_no_is_lost_like_any_other() -> None:
    points, raised = failing(NotFound("no such pod"))
    assert raised.type is Unavailable
    assert points.struck.is_set()


def test_what_was_never_answered_is_as_it_was() -> None:
    """The failpoint waits for one that is."""
    points, raised = failing(silence := Unavailable("no answer"))
    assert raised.value is silence
    assert not points.struck.is_set()
