"""Which failpoint is armed on which node: always one of those that have struck least, until it has struck."""

import time
from collections import Counter
from random import Random

from tests.failpoints import failpoint, hooks

from .hands import Agent

_PATIENCE = 20.0  # seconds: what has not been come to by then lets another one try


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
        self._armed: dict[str, tuple[str, float]] = {}
        self._not_before = dict.fromkeys(agents, 0.0)

    def turn(self) -> None:
        """Arms where none is, and another one where one has waited for long."""
        now = time.monotonic()
        for node, agent in self._agents.items():
            armed = self._armed.get(node)
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
        busy = {name for name, _ in self._armed.values()}
        free = {name: count for name, count in self.struck.items() if name not in busy}
        least = sorted(free.values())[len(free) // 4]  # those that nobody comes to must not hold the others up
        return self._chance.choice([name for name, count in free.items() if count <= least])
