"""Whose daemon is left alone, and for how long. A hook waits for one that was killed, frozen or hung, and its node is
drained where that comes too often, as it should be: chaos is not to do it."""

import math
import threading
import time
from collections.abc import Iterable

from tests.failpoints.listed import place_of

from .plan import Mix, Pace

_TO_HOOKS = ("reply.hello", "reply.scan", "reply.answer")
_AT_BEGIN = "journal.set_note"  # which a daemon writes as it begins, and hardly ever later


def silences_daemon(name: str) -> bool:
    """Whether a hook hears nothing behind this failpoint: all wait for a write to the journal, and one for its reply.
    Other calls have threads of their own."""
    harm, _, place = name.split("-", 2)
    if harm == "hang":
        return place.startswith("journal.") or place in _TO_HOOKS
    return harm == "kill" and not place.startswith("hook.")


class Sparing:
    """Of these nodes' daemons, each as long as the pace says. Any thread may tell, or ask."""

    def __init__(self, nodes: Iterable[str], pace: Pace, mix: Mix) -> None:
        self._pace, self._seeks = pace, mix.seeks
        self._until = dict.fromkeys(nodes, -math.inf)
        self._lock = threading.Lock()

    def silenced(self, node: str) -> None:
        """Its daemon was, by whomever."""
        with self._lock:
            self._until[node] = time.monotonic() + self._pace.silences

    def serves(self, node: str) -> None:
        """Its daemon is ready to serve."""
        with self._lock:
            self._until[node] = min(self._until[node], time.monotonic() + self._pace.serves)

    def left(self, node: str) -> float:
        """Seconds in which it is not to be silenced again."""
        with self._lock:
            return max(0.0, self._until[node] - time.monotonic())

    def spares(self, node: str) -> bool:
        """Whether its daemon was silenced so lately that it is not to be again."""
        return self.left(node) > 0

    def forbids(self, node: str, name: str) -> bool:
        """Whether this failpoint would silence a daemon that is spared. Where that is sought, one that begins may be
        silenced once more: it has not got far, and the place rests then."""
        if not silences_daemon(name) or not self.spares(node):
            return False
        return not (place_of(name) == _AT_BEGIN and _AT_BEGIN in self._seeks)
