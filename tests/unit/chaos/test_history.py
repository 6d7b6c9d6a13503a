"""What chaos has seen of both systems."""

import math

from tests.chaos.history import History, Pod, Workload

JOB, NODE, OTHER = 7, "compute1", "compute2"


def test_a_daemon_is_away_until_it_is_ready() -> None:
    history = History()
    for at in (100, 103, 120):
        history.went(NODE, at)
    history.went(NODE, 90, seconds=5)
    history.came(OTHER, 107)
    assert max(came for _, came in history.away[NODE]) == math.inf
    history.came(NODE, 110)
    assert sorted(history.away[NODE]) == [(90, 95), (100, 110), (103, 110), (120, math.inf)]


def test_what_comes_later_is_not_in_a_history_of_this_moment() -> None:
    def seen() -> History:
        workload = Workload("w", "slurm-demo-7-0", JOB, 100.5, 113)
        return History(
            workloads={"w": workload}, pods={"p": Pod("p", "slurm-demo-7-0-worker-0", JOB, NODE, 101, 102, 112, 113)}
        )

    history = seen()
    then = history.at_this_moment()
    history.pods["q"] = Pod("q", "slurm-demo-7-0-worker-1", JOB, OTHER, 101)
    history.left.append("marker")
    history.went(NODE, 100)
    assert then == seen() != history
