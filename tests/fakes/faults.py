"""Trouble on demand, the same for every fake."""

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

_HELD = 10.0  # seconds after which a call that is held goes on, so that a test that is red ends


class Faults:
    """``calls`` has the name of every call so far. A fault makes calls fail, before or after they had effect.
    ``let_go`` has those that were held, and for which nobody came: their test has not shown what it says."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.let_go: list[str] = []
        self.outage: Exception | None = None
        self._holds: dict[str, Event] = {}
        self._before: dict[str, deque[Exception]] = defaultdict(deque)
        self._after: dict[str, deque[Exception]] = defaultdict(deque)

    def fail(self, verb: str, *errors: Exception) -> None:
        """The next calls of this verb fail, one with each error, and do nothing."""
        self._before[verb].extend(errors)

    def lose_answer(self, verb: str, error: Exception) -> None:
        """The next call of this verb does its work, and its answer is lost."""
        self._after[verb].append(error)

    def hold(self, verb: str) -> Event:
        """Calls of this verb do nothing until the event is set."""
        return self._holds.setdefault(verb, Event())

    @contextmanager
    def call(self, verb: str) -> Iterator[None]:
        """Around one call."""
        self.calls.append(verb)
        if verb in self._holds and not self._holds[verb].wait(_HELD):
            self.let_go.append(verb)
        if self.outage is not None:
            raise self.outage
        if self._before[verb]:
            raise self._before[verb].popleft()
        yield
        if self._after[verb]:
            raise self._after[verb].popleft()
