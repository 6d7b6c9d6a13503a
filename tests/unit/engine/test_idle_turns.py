"""A node that waits costs nothing: the engine takes no turns in which it can do nothing."""

import threading

from .node import Node
from .test_door import LONG, unproven
from .world import World


def test_waiting_costs_no_turns(world: World) -> None:
    """Neither a scan that nobody can do now, nor a prolog past the deadline that still settles."""
    node, job = world.node(epilog_deadline=LONG, prolog_deadline=0.1), world.job()
    unproven(world, node, job)
    assert Turns(node).within(0.15) < 10


def test_settling_past_the_deadline_costs_no_turns(world: World) -> None:
    node, job = world.node(prolog_deadline=0.1), world.job("n1", "n2")
    told = world.rest.faults.hold("set_comment")
    hook = node.prolog(job)
    node.until(lambda run: run.judgement, job)
    assert Turns(node).within(0.15) < 10
    assert hook.waits
    told.set()
    assert hook.exit() == 0


class Turns:
    """Counts the engine's turns."""

    def __init__(self, node: Node) -> None:
        self._engine = node.engine

    def within(self, seconds: float) -> int:
        """How many there are in this time."""
        count, over = 0, threading.Event()
        timer = threading.Timer(seconds, over.set)
        timer.start()
        while not over.is_set():
            with self._engine.changed:
                count += self._engine.changed.wait(0.02)
        timer.join()
        return count
