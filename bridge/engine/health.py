"""How the two servers answered last: what `bridgectl status` shows of this node's connections."""

import threading
from dataclasses import dataclass

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.activities import Activity
from bridge.errors import BridgeError, Unauthenticated, Unavailable

KUBERNETES = "Kubernetes"
SLURMRESTD = "slurmrestd"


@dataclass(frozen=True)
class Contact:
    """The last answer of a server: when (boot clock), and the sentence why it was none, '' when it was good.

    ``down_since`` is the first of the failures without one answer between them: no connection, 5xx, 429, or a
    credential that is not taken.
    """

    at: float
    fault: str = ""
    for_good: bool = False
    down_since: float | None = None


class Health:
    """Written by the executor's threads, read by the user socket's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contacts: dict[str, Contact] = {}

    def note(self, activity: Activity, event: events.Event | None, error: BridgeError | None, at: float) -> None:
        """An activity has come to its end with this event, and with this error where it failed."""
        if isinstance(activity, do.FollowLog):
            return  # the kubelet's answer through the API server: it says nothing about either server
        server = _server(activity)
        with self._lock:
            known = self._contacts.get(server)
            since = None if known is None or known.down_since is None else known.down_since
            down = (since or at) if isinstance(error, Unavailable | Unauthenticated) else None
            self._contacts[server] = Contact(at, _fault(event), isinstance(event, events.NotReporting), down)

    def contacts(self) -> dict[str, Contact]:
        """The servers that were spoken to since the daemon's start."""
        with self._lock:
            return dict(self._contacts)


def _server(activity: Activity) -> str:
    slurm = do.LearnJob | do.PollJob | do.Report | do.CancelJob
    return SLURMRESTD if isinstance(activity, slurm) else KUBERNETES


def _fault(event: events.Event | None) -> str:
    match event:
        case events.Failed(sentence=sentence) | events.NotReporting(sentence=sentence):
            return sentence
        case events.Reported(given_up=given_up) | events.Cancelled(given_up=given_up):
            return given_up
    return ""
