"""Which failpoint is armed on which node: rather one that has struck seldom, and that was not in vain before."""

import time
from collections import Counter
from random import Random

from tests.failpoints import failpoint, hooks

from .hands import Agent

_PATIENCE = 5.0  # seconds: what has not been come to by then lets another one try


def names() -> list[str]:
    """Of all failpoints, the daemon's and the hooks'."""
    of_daemon = [str(each) for place in failpoint.PLACES for each in failpoint.possible(place)]
    return of_daemon + [name for place in hooks.PLACES for name in hooks.possible(place)]


class Arming:
    """Of all nodes. `gap`: seconds on average between a strike on a node and the next arming there."""

    def __init__(self, seed: int, agents: dict[str, Agent], gap: float) -> None:
        self.struck = Counter(dict.fromkeys(names(), 0))
        self._agents, self._gap = agents, gap
        self._chance = Random(f"{seed} failpoints")
        self._in_vain = Counter[str]()
        self._armed: dict[str, tuple[str, float]] = {}
        self._not_before = dict.fromkeys(agents, 0.0)

    def turn(self) -> None:
        """Arms where none is, and another one where one has waited for long."""
        now = time.monotonic()
        for node, agent in self._agents.items():
            armed = self._armed.get(node)
            if armed is not None and now > armed[1] + _PATIENCE:
                self._in_vain[armed[0]] += 1
            if (armed is None and now >= self._not_before[node]) or (armed is not None and now > armed[1] + _PATIENCE):
                name = self._next()
                self._armed[node] = name, now
                agent.say("arm", name)

    def hear(self, node: str, name: str) -> None:
        """It has struck there."""
        self.struck[name] += 1
        self._armed.pop(node, None)
        self._not_before[node] = time.monotonic() + self._chance.expovariate(1 / self._gap)

    def clear(self) -> None:
        """None any more."""
        for agent in self._agents.values():
            agent.say("disarm")
        self._not_before = dict.fromkeys(self._agents, float("inf"))
        self._armed.clear()

    def _next(self) -> str:
        names, most = list(self.struck), max(self.struck.values())
        weights = [(1 + most - self.struck[name]) / (1 + self._in_vain[name]) for name in names]
        return self._chance.choices(names, weights)[0]
