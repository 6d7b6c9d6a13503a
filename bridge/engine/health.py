"""How the two servers answered last: what `bridgectl status` shows of this node's connections."""

import threading
from dataclasses import dataclass, replace

import structlog

from bridge.engine import activities as do
from bridge.engine import events
from bridge.engine.activities import Activity
from bridge.errors import BridgeError, Unauthenticated, Unavailable
from bridge.job.faults import Finding

log = structlog.get_logger()

KUBERNETES = "Kubernetes"
SLURMRESTD = "slurmrestd"

_GAP = 60.0  # seconds without a question after which nobody can say that the server was away all the time


@dataclass(frozen=True)
class Contact:
    """The last answer of a server: when (boot clock), and the sentence why it was none, '' when it was good.

    ``row`` is that of the fault table, where the sentence is of one. ``down_since`` is the first of the failures
    without one answer between them: no connection, 5xx, 429, or a credential that is not taken.
    """

    at: float
    fault: str = ""
    row: str = ""
    for_good: bool = False
    down_since: float | None = None


@dataclass(frozen=True)
class Unknown:
    """What this daemon has met that no row of the fault table describes: how often, and the last one's words."""

    count: int = 0
    last: str = ""


class Health:
    """Written by the executor's threads and the engine's, read by the user socket's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contacts: dict[str, Contact] = {}
        self._unknown = Unknown()

    def note(
        self, activity: Activity, event: events.Event | None, error: BridgeError | None, at: float, apart: str = ""
    ) -> None:
        """An activity has come to its end with this event, and with this error where it failed; ``apart`` names the
        namespace of its run where that has a credential of its own."""
        if isinstance(activity, do.FollowLog | do.TellSlurmSide):
            # The kubelet's answer through the API server says nothing about either server; nor does what is tried once,
            # whether it came to something or not.
            return
        row = event.fault if isinstance(event, events.Failed) else ""
        for_good = isinstance(event, events.NotReporting)
        self._enter(server_of(activity, apart), Contact(at, _fault(event), row, for_good), error)

    def heard(self, server: str, found: Finding | None, error: BridgeError | None, at: float) -> None:
        """The same of a question that no run has asked."""
        told = Contact(at) if found is None else Contact(at, found.sentence, found.fault.name)
        self._enter(server, told, error)

    def _enter(self, server: str, told: Contact, error: BridgeError | None) -> None:
        with self._lock:
            known = self._contacts.get(server)
            since = None if known is None or told.at > known.at + _GAP else known.down_since
            down = (since or told.at) if isinstance(error, Unavailable | Unauthenticated) else None
            self._contacts[server] = replace(told, down_since=down)

    def note_unknown(self, words: str) -> None:
        """Something was met that has no row of its own."""
        log.warning("unknown_observation", words=words)
        with self._lock:
            self._unknown = Unknown(self._unknown.count + 1, words)

    def unknown(self) -> Unknown:
        """What had no row, since the daemon's start."""
        with self._lock:
            return self._unknown

    def contacts(self) -> dict[str, Contact]:
        """The servers that were spoken to since the daemon's start."""
        with self._lock:
            return dict(self._contacts)


def server_of(activity: Activity, apart: str = "") -> str:
    """Which server this activity speaks to, and where with another credential than the node's own, in which namespace:
    what becomes of one credential says nothing of the others."""
    job = do.LearnJob | do.PollJob | do.Report | do.TellProgress | do.CancelJob | do.ExtendLimit
    if isinstance(activity, job | do.DrainNode | do.ResumeNode):
        return SLURMRESTD
    as_the_node = do.ProveNode | do.LookAtNode | do.CountNodeFaults
    return KUBERNETES if isinstance(activity, as_the_node) or not apart else f"{KUBERNETES} in {apart}"


def _fault(event: events.Event | None) -> str:
    match event:
        case events.Failed(sentence=sentence) | events.NotReporting(sentence=sentence):
            return sentence
        case events.Reported(given_up=given_up) | events.ProgressTold(given_up=given_up):
            return given_up
        case events.Cancelled(given_up=given_up):
            return given_up
        case events.Drained(given_up=given_up) | events.Resumed(given_up=given_up):
            return given_up
        case events.Extended(given_up=given_up):
            return given_up
    return ""
