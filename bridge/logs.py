"""One event per fact, as JSON lines on stderr; journald keeps them. What repeats itself is thinned out."""

import logging
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any

import structlog
from structlog.tracebacks import ExceptionDictTransformer

_BURST = 20  # lines of one kind before they are thinned out
_PERIOD = 60.0  # seconds in which one line of a kind comes through from then on
_KINDS = 2000  # kinds remembered; the one that was silent longest is forgotten

# What makes two lines of the same kind. Not the words of a fault: a hostile or flapping peer finds new ones each time.
_IDENTITY = ("event", "run", "job", "activity", "phase", "kind", "socket", "uid", "path", "labelSelector")

EventDict = MutableMapping[str, Any]


class Thinning:
    """A structlog processor: of each kind a burst, then one line a period, which tells how many it stands for.

    A server that is away for a weekend, or a user who knocks at a socket in a loop, must not fill the disk.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kinds: OrderedDict[tuple[str, ...], _Kind] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, _logger: object, _method: str, line: EventDict) -> EventDict:
        """The line, or structlog.DropEvent."""
        identity = tuple(str(line.get(name, "")) for name in _IDENTITY)
        with self._lock:
            kind = self._kinds.setdefault(identity, _Kind(self._clock()))
            self._kinds.move_to_end(identity)
            if len(self._kinds) > _KINDS:
                self._kinds.popitem(last=False)
            left_out = kind.said_at(self._clock())
        if left_out is None:
            raise structlog.DropEvent
        if left_out:
            line["left_out"] = left_out
        return line


class _Kind:
    def __init__(self, at: float) -> None:
        self._filled = at
        self._room = float(_BURST)
        self._left_out = 0

    def said_at(self, at: float) -> int | None:
        """How many lines were left out before this one; None when this one is left out, too."""
        self._room = min(self._room + (at - self._filled) / _PERIOD, float(_BURST))
        self._filled = at
        if self._room < 1.0:
            self._left_out += 1
            return None
        self._room -= 1.0
        left_out, self._left_out = self._left_out, 0
        return left_out


def _on(node: str) -> Callable[[object, str, EventDict], EventDict]:
    """A processor: lines of many nodes are read in one place, each says which one wrote it."""

    def named(_logger: object, _method: str, line: EventDict) -> EventDict:
        line.setdefault("node", node)
        return line

    return named


def configure(level: str = "info") -> None:
    """Set up structlog for the daemon."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _on(socket.gethostname().partition(".")[0]),
            structlog.processors.add_log_level,
            Thinning(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Where, and not with which values: a frame's locals have tokens among them.
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
