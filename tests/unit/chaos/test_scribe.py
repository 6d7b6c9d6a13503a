"""What agents tell goes into the history, and to whom it concerns."""

from tests.chaos.arming import Arming
from tests.chaos.history import History
from tests.chaos.mixes import MIXES
from tests.chaos.site import Scribe

from .hand import Hand

MIX = MIXES["memory"]


def test_a_daemon_may_be_ready_before_anything_is_armed() -> None:
    """Each begins anew for its failpoints, just before."""
    history = History()
    history.went("n1", 5.0)
    Scribe(history).hear("n1", {"event": "ready", "at": 7.0})
    assert history.away == {"n1": [(5.0, 7.0)]}


def test_a_daemon_that_is_ready_is_not_spared_for_long() -> None:
    scribe = Scribe(History())
    arming = scribe.arming = Arming(1, {"n1": Hand(), "n2": Hand()}, MIX.pace, {}, MIX)
    for node in ("n1", "n2"):
        scribe.hear(node, {"event": "struck", "name": "kill-before-kubernetes.pod", "at": 5.0, "hook": []})
    scribe.hear("n1", {"event": "ready", "at": 7.0})
    assert arming.sparing.left("n1") <= MIX.pace.serves < arming.sparing.left("n2")
