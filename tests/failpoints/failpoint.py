"""Where a daemon reaches out of its process, and what goes wrong there, once.

A place is a call of a port, as `kubernetes.create_workload`, a write of the journal, or a frame to somebody who asks,
as `reply.answer`. `PLACES` has all of them: a call that is added to a port is a place by itself. Nothing of it is in
the product: the tests' fakes have it, and in the daemons of a chaos run `armed.py` puts it there.
"""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bridge.errors import RemoteError, Unavailable
from bridge.kube.api import Kubelet, Kubernetes
from bridge.slurmrest.api import SlurmRest

STREAMS = frozenset({"watch_pods", "watch_workload", "follow_log"})  # they tell without end, and by no one answer
_LOCAL = frozenset({"identity"})  # asks nobody: it stands in the credential
_WRITES = ("append", "forget", "set_note")
_REPLIES = ("hello", "scan", "answer", "attached", "line", "end")  # while a run goes its way
_LATE = 0.3  # seconds
_HANG = 12.0  # seconds; a call has ten, and systemd's watchdog thirty


def _calls(port: type) -> list[str]:
    return [name for name in vars(port) if not name.startswith("_") and name not in _LOCAL]


PLACES = (
    *(f"journal.{call}" for call in _WRITES),
    *(f"kubernetes.{call}" for call in _calls(Kubernetes)),
    *(f"kubelet.{call}" for call in _calls(Kubelet)),
    *(f"slurmrest.{call}" for call in _calls(SlurmRest)),
    *(f"reply.{kind}" for kind in _REPLIES),
)


class Side(Enum):
    """Whether what was to be done there has been done."""

    BEFORE = "before"
    AFTER = "after"


class Harm(Enum):
    """What goes wrong."""

    KILL = "kill"  # kill -9
    FAIL = "fail"  # no connection; after the call: its answer is lost
    TWICE = "twice"  # the request arrives a second time, and its answer is the one that comes back
    LATE = "late"
    HANG = "hang"  # longer than anybody waits


@dataclass(frozen=True)
class Failpoint:
    """One harm at one side of one place."""

    place: str
    side: Side
    harm: Harm

    def __str__(self) -> str:
        return f"{self.harm.value}-{self.side.value}-{self.place}"


def possible(place: str) -> Iterator[Failpoint]:
    """What can go wrong there. A journal that fails ends its daemon for good, which is no harm to be outlived; a stream
    and the kubelet's probe never raise; and who asks over a socket hears each frame once."""
    port, _, call = place.partition(".")
    has_answer = port in ("kubernetes", "slurmrest") and call not in STREAMS
    for side in Side:
        yield Failpoint(place, side, Harm.KILL)
        if has_answer or port == "reply":
            yield Failpoint(place, side, Harm.FAIL)
    if has_answer:
        yield Failpoint(place, Side.AFTER, Harm.TWICE)
    yield Failpoint(place, Side.AFTER, Harm.LATE)
    yield Failpoint(place, Side.BEFORE, Harm.HANG)


def named(name: str) -> Failpoint:
    """What `str` of one says. Raises ValueError where there is none of this name."""
    harm, side, place = name.split("-", 2)
    found = Failpoint(place, Side(side), Harm(harm))
    if place not in PLACES or found not in possible(place):
        raise ValueError(f"there is no failpoint {name}")
    return found


class Failpoints:
    """Of one node. ``passed`` are the places that its daemons have come to, ``struck`` whether one that was armed has
    struck."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.struck = threading.Event()
        self._armed = frozenset[Failpoint]()
        self._lock = threading.Lock()

    def arm(self, *failpoints: Failpoint) -> None:
        """The first of them that a daemon comes to strikes, and then none."""
        self._armed = frozenset(failpoints)

    def around(self, place: str, act: Callable[[], Any], die: Callable[[], None]) -> Any:
        """Does ``act``, unless something goes wrong before, and lets its answer through, unless something does then:
        also one that says no. ``die`` never returns."""
        self.passed.add(place)
        self._strike(place, Side.BEFORE, die)
        try:
            answer = act()
            if self._due(place, Side.AFTER, Harm.TWICE):
                answer = act()
        except Unavailable:
            raise
        except RemoteError:
            self._strike(place, Side.AFTER, die)
            raise
        self._strike(place, Side.AFTER, die)
        return answer

    def _strike(self, place: str, side: Side, die: Callable[[], None]) -> None:
        for harm, seconds in ((Harm.LATE, _LATE), (Harm.HANG, _HANG)):
            if self._due(place, side, harm):
                time.sleep(seconds)
        if self._due(place, side, Harm.KILL):
            die()
        if self._due(place, side, Harm.FAIL):
            raise Unavailable(f"{place} failed")

    def _due(self, place: str, side: Side, harm: Harm) -> bool:
        with self._lock:
            if Failpoint(place, side, harm) not in self._armed:
                return False
            self._armed = frozenset()
        self.struck.set()
        return True
