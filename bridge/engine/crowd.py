"""What the nodes of a large run do at different times.

A thousand nodes begin a run, and end it, in the same moment, and each is a client of the same API server, which answers
later when all ask at once than when they ask in turn. How long a node leaves something to others, and how seldom it
repeats a request, grows with the run: all of its nodes together ask about as often as those of a small one.
"""

from bridge.engine.state import Phase, Run

SMALL = 64  # nodes, which an API server answers in a moment
_MEMBER_PATIENCE = 1.0  # seconds a node leaves the deletion of the workload to the batch node
_EACH_RANK = 0.01  # seconds more: where the batch node is away, not all nodes delete the same workload
_CASCADE_PATIENCE = 2.0  # seconds a node leaves the deletion of its pod to the garbage collector
_EACH_POD = 0.05  # seconds more for each rank: the collector may send some 20 requests a second, we as many beside it
_EACH_NODE = 0.0005  # seconds for each node of a run over which what all of them begin with at once is spread
_EACH_NODE_BEGUN = 0.004  # more of them beyond a small run for pods that are to come: the last one comes much later
_EACH_NODE_RELEASED = 0.01  # the same for pods that are going to go: no script waits for that
_EACH_NODE_QUEUED = 0.01  # seconds for each node beyond a small run that looks for what does not come
_LONGEST_DELAY = 5.0  # seconds between two attempts
_LONGEST_EACH_NODE = 0.02  # seconds for each node, where that is longer


def times(run: Run) -> float:
    """How much longer a node of this run waits where all of them repeat something; 1 for a small one."""
    return max(1.0, len(run.nodes) / SMALL)


def turn(run: Run) -> float:
    """This node's place among those who repeat something in turn, as a share of the period; 1 where nobody has to."""
    return 1.0 if len(run.nodes) <= SMALL else ((run.rank or 0) + 1) / len(run.nodes)


def member_patience(run: Run) -> float:
    """Seconds from the epilog's beginning on that this node leaves to others what it would delete for them."""
    return _MEMBER_PATIENCE + _EACH_RANK * (run.rank or 0) * times(run)


def cascade_patience(run: Run) -> float:
    """Seconds from the epilog's beginning on after which this node deletes its pod itself.

    The garbage collector does that for the workload, and each delete of our own is one request more for an API server
    that ends all pods of a run at once: a thousand of them, refused and repeated, were most of what a release cost.
    """
    return _CASCADE_PATIENCE + _EACH_POD * (run.rank or 0)


def queue(run: Run) -> float:
    """Seconds in which all nodes of a run that waits ask for something, one after the other; 0 for a small one."""
    return _EACH_NODE_QUEUED * _beyond_small(run)


def spread(run: Run, *, of_pods: bool) -> float:
    """Seconds over which the nodes spread a request that all of them have at once; `of_pods`: for their pods."""
    more = _EACH_NODE_RELEASED if run.phase is Phase.RELEASE else _EACH_NODE_BEGUN
    return _EACH_NODE * len(run.nodes) + (more * _beyond_small(run) if of_pods else 0.0)


def longest_delay(run: Run) -> float:
    """Seconds between two attempts at the most: the nodes of a large run keep the server busy themselves."""
    return max(_LONGEST_DELAY, _LONGEST_EACH_NODE * len(run.nodes))


def _beyond_small(run: Run) -> int:
    """Nodes."""
    return max(0, len(run.nodes) - SMALL)
