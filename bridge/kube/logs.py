"""Following one container's log over broken connections, without loss or repetition.

What is known of the server (kubelet 1.27 to 1.36): with ``timestamps`` each line starts with the stamp of its
first fragment; ``sinceTime`` reaches the kubelet in whole seconds, so lines come again; the stream may end
as if complete when the kubelet restarts, so an end counts only if the container had ended before the opening;
what is no line of the log (an error of the runtime) comes with status 200 and without a stamp.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event

import structlog

from bridge.errors import Invalid, NotFound, Unauthenticated, Unavailable
from bridge.kube.answers import slim
from bridge.kube.api import LogLine, Object
from bridge.kube.stream import Pace, chunks, pieces
from bridge.kube.transport import Request, Transport

_log = structlog.get_logger(__name__)

_IDLE = 300.0  # seconds of silence, then the stream is opened anew: it may be dead, and costs little
_PIECE = 64 * 1024  # bytes of a line passed at once
_LONGEST_WAIT = 2.0  # seconds between two looks at a container that has not started
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


@dataclass
class _Position:
    """How far the log was passed on: all lines before ``moment`` (ns), the first ``lines`` of that very
    moment, and ``passed`` bytes of the next."""

    stamp: str
    moment: int
    lines: int
    passed: int = 0


class _Pass:
    """One reading of the log: says of each line how much of it was passed on by an earlier one.

    Only until it has caught up: a clock that was set back must not hide lines.
    """

    def __init__(self, position: _Position) -> None:
        self.at = position
        self._behind = True
        self._of_moment = 0
        self._skip: int | None = 0

    def begin(self, stamp: str, moment: int) -> None:
        """A line begins."""
        if self._behind and moment < self.at.moment:
            self._skip = None
            return
        if moment != self.at.moment:
            self.at.stamp, self.at.moment, self.at.lines, self.at.passed = stamp, moment, 0, 0
            self._of_moment = 0
        self._skip = self.at.passed if self._of_moment >= self.at.lines else None
        self._of_moment += 1
        self._behind = self._skip is None

    def fresh(self, data: bytes, ends: bool) -> bytes:
        """What of this piece of the line is new."""
        if self._skip is None:
            return b""
        new, self._skip = data[self._skip :], max(self._skip - len(data), 0)
        self.at.passed += len(new)
        if ends:
            self.at.lines, self.at.passed = self.at.lines + 1, 0
        return new


class LogFollower:
    """One walk through the log of one container; iterate it once."""

    def __init__(self, transport: Transport, pod_path: str, container: str, after: str, stop: Event) -> None:
        self._transport = transport
        self._path = pod_path
        self._container = container
        self._stop = stop
        self._pace = Pace(stop, longest=_LONGEST_WAIT)
        self._at = _Position(after, _moment(after) or 0, lines=sys.maxsize if after else 0)
        self._uid = ""
        self._log = _log.bind(path=pod_path, container=container)

    def __iter__(self) -> Iterator[LogLine]:
        """Raises NotFound when the pod is gone or another one has its name, Invalid when it has no such
        container, Forbidden when logs are not allowed; everything else is tried again."""
        while not self._stop.is_set():
            try:
                state = self._state()
                if "running" in state or "terminated" in state:
                    yield from self._stream(final="terminated" in state)
                    if "terminated" in state:
                        return
                self._pace.pause()
            except (Unavailable, Unauthenticated) as error:
                self._interrupted(error)

    def _interrupted(self, error: Unavailable | Unauthenticated) -> None:
        if not self._pace.failures:
            self._log.warning("log_interrupted", cause=str(error), status=error.status)
        self._pace.pause(error.retry_after if isinstance(error, Unavailable) else 0.0)

    def _state(self) -> Object:
        """The container's state in Kubernetes' words, {} while nobody says."""
        pod = slim(self._transport.call(Request("GET", self._path)))
        uid = pod["metadata"]["uid"]
        if self._uid and uid != self._uid:
            raise NotFound(f"The pod {pod['metadata']['name']} was replaced by another one", status=404)
        self._uid = uid
        if all(container["name"] != self._container for container in pod.get("spec", {}).get("containers", [])):
            raise Invalid(f"The pod {pod['metadata']['name']} has no container {self._container!r}", status=400)
        for status in pod.get("status", {}).get("containerStatuses", []):
            if status["name"] == self._container:
                return dict(status.get("state") or {})
        # Evicted or refused by the kubelet: it ends without any container ever having a state.
        return {"terminated": {}} if pod.get("status", {}).get("phase") in ("Failed", "Succeeded") else {}

    def _stream(self, final: bool) -> Iterator[LogLine]:
        query = {"container": self._container, "follow": "true", "timestamps": "true"}
        if self._at.moment:
            query["sinceTime"] = self._at.stamp
        request = Request("GET", f"{self._path}/log", query)
        with closing(chunks(lambda: self._transport.open(request, _IDLE), self._stop)) as source:
            try:
                yield from self._lines(source)
            except Invalid as error:
                # "waiting to start": the kubelet is behind the API server, or the container never ran at all.
                if not final:
                    raise Unavailable(str(error), status=error.status) from error

    def _lines(self, source: Iterator[bytes]) -> Iterator[LogLine]:
        reading, begins, foreign = _Pass(self._at), True, False
        for piece in pieces(source, _PIECE):
            ends = piece.endswith(b"\n")
            if not ends and self._stop.is_set():
                return  # half a line whose stamp would count as passed on
            data = piece
            if begins:
                stamp, _, data = piece.partition(b" ")
                foreign = not self._begin(reading, stamp.decode("ascii", "replace"))
            begins = ends
            new = b"" if foreign else reading.fresh(data, ends)
            if new:
                self._pace.succeeded()
                yield LogLine(self._at.stamp, new)

    def _begin(self, reading: _Pass, stamp: str) -> bool:
        moment = _moment(stamp)
        if moment is None:
            self._log.warning("log_line_unstamped", begins=stamp[:80])
            return False
        reading.begin(stamp, moment)
        return True


def _moment(stamp: str) -> int | None:
    """Nanoseconds since the epoch, so that stamps of two time zones compare; None for what is no stamp."""
    match = _STAMP.fullmatch(stamp)
    if not match:
        return None
    seconds, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(seconds + zone.replace("Z", "+00:00"))
    except ValueError:
        return None
    return int(moment.astimezone(UTC).timestamp()) * 10**9 + int((fraction or "").ljust(9, "0"))
