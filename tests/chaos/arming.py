"""Which failpoints are armed on which node: many at once, rather those that have struck seldom. The first that somebody
comes to strikes, and none for a while then; nor any of the same place for a longer while: else a daemon that is killed
at each begin of the same step never comes to the next one. Nor is a daemon silenced that is spared (sparing.py)."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Protocol

from tests.failpoints.listed import names, place_of

from .plan import Mix, Pace
from .sparing import Sparing, silences_daemon

_AT_ONCE = 20  # places, of some fifty
# Of those, where some are sought, places that silence a daemon: were it all of them, the first ones on the way of a run
# would do it each time, and spare the daemon at the later ones. With three a daemon that was not spared any more came
# to one of them after 43 s, with five after 36.
_SILENCING_AT_ONCE = 10
# Seconds that a place lets everybody on a node pass after such a strike there.
_REST = {"kill": 45.0, "hang": 45.0, "fail": 15.0, "late": 0.0, "twice": 0.0}
_PATIENCE = 5.0  # seconds: what has not been come to by then lets others try


class Armed(Protocol):
    """A node, as far as failpoints go."""

    def say(self, *words: object) -> None:
        """`arm` and their names, or `disarm`."""


class Arming:
    """Of all nodes. The pace says how long on average is between a strike on a node and the next arming there, 0 for at
    once, when a short life may come to more than one; `before`: how often each has struck in earlier pieces; the mix
    says which are sought, and how often is enough. Any thread may tell of a strike."""

    def __init__(self, seed: int, agents: Mapping[str, Armed], pace: Pace, before: Mapping[str, int], mix: Mix) -> None:
        self.struck = Counter(dict.fromkeys(names(), 0))
        self._agents, self._pace, self._before, self._mix = agents, pace, before, mix
        self._chance = Random(f"{seed} failpoints")
        self._not_before = dict.fromkeys(agents, 0.0)
        self._rests: dict[tuple[str, str], float] = {}
        self._armed = dict[str, list[str]]()
        self.sparing = Sparing(agents, pace, mix)
        # Not on all: what lacks most may be what nobody comes to where daemons are not killed elsewhere.
        self._for_the_rarest = frozenset(list(agents)[1::2] if mix.seeks else ())
        self._lock, self._is_over = threading.RLock(), False

    def turn(self) -> None:
        """Arms where none is, and others where nobody has come to those that are."""
        with self._lock:
            for node in self._agents:
                if time.monotonic() >= self._not_before[node]:
                    self._arm(node)

    def hear(self, node: str, name: str) -> None:
        """It has struck there."""
        with self._lock:
            self.struck[name] += 1
            self._rests[node, place_of(name)] = time.monotonic() + _REST[name.partition("-")[0]]
            self._armed.pop(node, None)
            if silences_daemon(name):
                self.silenced(node)
            if gap := self._pace.failpoints:
                self._not_before[node] = time.monotonic() + self._chance.expovariate(1 / gap)
            else:
                self._arm(node)

    def silenced(self, node: str) -> None:
        """Its daemon was, by whomever."""
        with self._lock:
            self.sparing.silenced(node)
            armed = self._armed.get(node, [])
            if any(self.sparing.forbids(node, name) for name in armed):
                self._say(node, [name for name in armed if not self.sparing.forbids(node, name)])

    def clear(self) -> None:
        """None any more."""
        with self._lock:
            self._is_over = True
            for agent in self._agents.values():
                agent.say("disarm")

    def _arm(self, node: str) -> None:
        self._not_before[node] = time.monotonic() + _PATIENCE
        self._say(node, self._drawn(node))

    def _say(self, node: str, armed: list[str]) -> None:
        if not self._is_over:
            self._armed[node] = armed
            self._agents[node].say("arm", *armed)

    def _drawn(self, node: str) -> list[str]:
        """Weighted, without repetition: each has its chance, the more the less it has struck (Efraimidis, Spirakis). Of
        a place one alone: a kill there would come before any answer that fails, each time."""
        counts = {name: count + self._before.get(name, 0) for name, count in self.struck.items()}
        sought = {name: count for name, count in counts.items() if self._is_sought(name, count)}
        if node in self._for_the_rarest:
            sought = self._rarest(sought)
        keys = {
            name: self._chance.random() ** (1 / self._weight(count))
            for name, count in sought.items()
            if not self._rests_at(node, name)
        }
        drawn, silencing = dict[str, str](), 0
        for name in sorted(keys, key=keys.__getitem__, reverse=True):
            is_one_too_many = silences_daemon(name) and silencing == self._silencing_at_once
            if place_of(name) not in drawn and not is_one_too_many:
                drawn[place_of(name)] = name
                silencing += silences_daemon(name)
        return list(drawn.values())[:_AT_ONCE]

    def _rarest(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Without those that silence a daemon, but for the ones that lack at least half as many strikes as any. Who has
        been killed at the begin of a run is spared at its end, however often that is armed."""
        most = max((self._mix.enough - count for name, count in counts.items() if silences_daemon(name)), default=0)
        return {
            name: count
            for name, count in counts.items()
            if not silences_daemon(name) or 2 * (self._mix.enough - count) >= most
        }

    def _weight(self, count: int) -> float:
        """Of one that has struck so often. Where places are sought, the square of what is missing there: what most runs
        come to had its hundred long before the few others, and until then it took the daemon from those."""
        return (self._mix.enough - count) ** 2 if self._mix.seeks else 1 / (1 + count)

    @property
    def _silencing_at_once(self) -> int:
        return _SILENCING_AT_ONCE if self._mix.seeks else _AT_ONCE

    def _rests_at(self, node: str, name: str) -> bool:
        is_at_rest = time.monotonic() < self._rests.get((node, place_of(name)), 0.0)
        return is_at_rest or self.sparing.forbids(node, name)

    def _is_sought(self, name: str, count: int) -> bool:
        """All are where no places are sought; else those of these places that have struck too seldom."""
        seeks = self._mix.seeks
        return not seeks or (place_of(name) in seeks and count < self._mix.enough)
