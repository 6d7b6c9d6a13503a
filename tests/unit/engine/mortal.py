"""What a daemon of the tests reaches out with, so that kill -9 can hit it there: its journal and its connections."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bridge.engine import events
from bridge.errors import Unavailable
from bridge.store.journal import Journal, Line
from tests.failpoints.failpoint import Failpoints


class Killed(BaseException):
    """kill -9 hits the engine here."""


class Deadly:
    """A key at the sight of which the engine is killed."""

    def __hash__(self) -> int:
        raise Killed


class Perils:
    """Where in its writing the daemon is killed: once before and once after the lines of these kinds."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.everywhere = False
        self.struck: list[tuple[str, str]] = []

    def strike_after(self, kind: str) -> None:
        """Kill after the next line of this kind, and never before one."""
        self.struck.append(("before", kind))
        self.kinds = {kind}

    def strike(self, when: str, lines: list[Line]) -> None:
        """Kills where that is due."""
        for kind in [events.from_json(line.body).kind for line in lines]:
            if (self.everywhere or kind in self.kinds) and (when, kind) not in self.struck:
                self.struck.append((when, kind))
                raise Killed


class MortalJournal(Journal):
    """The real journal of a daemon that may be killed before and after each write. All writes are the engine's."""

    def __init__(self, directory: Path, perils: Perils, failpoints: Failpoints) -> None:
        self._perils = perils
        self._failpoints = failpoints
        super().__init__(directory)

    def append(self, lines: Iterable[Line]) -> None:
        written = list(lines)
        self._perils.strike("before", written)
        self._failpoints.around("journal.append", lambda: super(MortalJournal, self).append(written), _killed)
        self._perils.strike("after", written)

    def forget(self, runs: Iterable[str]) -> None:
        gone = list(runs)
        self._failpoints.around("journal.forget", lambda: super(MortalJournal, self).forget(gone), _killed)

    def set_note(self, name: str, value: str) -> None:
        self._failpoints.around("journal.set_note", lambda: super(MortalJournal, self).set_note(name, value), _killed)


def _killed() -> None:
    raise Killed


class Connection:
    """A daemon's way to a server; once the daemon is killed, none of its calls arrives any more."""

    def __init__(self, port: str, server: object, failpoints: Failpoints, die: Callable[[], None]) -> None:
        self._port = port
        self._server = server
        self._failpoints = failpoints
        self._die = die
        self.cut = False

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            if self.cut:
                raise Unavailable("the process that asks is dead")
            act = getattr(self._server, verb)
            return self._failpoints.around(f"{self._port}.{verb}", lambda: act(*args), self._die)

        return call
