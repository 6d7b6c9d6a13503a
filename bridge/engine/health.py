"""How the two servers answered last: what `bridgectl status` shows of this node's connections."""

import threading
from dataclasses import dataclass

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.activities import Activity

KUBERNETES = "Kubernetes"
SLURMRESTD = "slurmrestd"


@dataclass(frozen=True)
class Contact:
    """The last answer of a server: when (boot clock), and the sentence why it was none, '' when it was good."""

    at: float
    fault: str = ""
    for_good: bool = False


class Health:
    """Written by the executor's threads, read by the user socket's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contacts: dict[str, Contact] = {}

    def note(self, activity: Activity, event: events.Event | None, at: float) -> None:
        """An activity has come to its end with this event."""
        contact = Contact(at, _fault(event), isinstance(event, events.NotReporting))
        with self._lock:
            self._contacts[_server(activity)] = contact

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
