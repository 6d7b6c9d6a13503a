"""Following one container's log over broken connections, without loss or repetition.

What is known of the server (kubelet 1.27 to 1.36): the stream may end as if complete when the kubelet restarts, so
an end counts only if the container had ended before the opening. Who follows a log mostly watches its pod, too, and
is asked for that; the API server is asked where the watch says nothing. What the bytes say stands in `log_reading`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event

import structlog

from bridge.errors import Invalid, NotFound, Unauthenticated, Unavailable
from bridge.kube.answers import slim
from bridge.kube.api import LogPiece, Object
from bridge.kube.log_reading import Position, Reading
from bridge.kube.stream import Pace, chunks
from bridge.kube.transport import Request, Transport

_log = structlog.get_logger(__name__)

_IDLE = 300.0  # seconds of silence, then the stream is opened anew: it may be dead, and costs little
_LONGEST_WAIT = 2.0  # seconds between two looks at a container that has not started
_MOMENT = 2.0  # seconds after a stream's end in which a watch of its pod says that the container has ended
_LOOK = 0.05  # seconds between two looks at what that watch says


class LogFollower:
    """One walk through the log of one container; iterate it once."""

    def __init__(
        self,
        transport: Transport,
        pod_path: str,
        container: str,
        after: str,
        stop: Event,
        is_over: Callable[[], bool] | None,
    ) -> None:
        self._transport = transport
        self._path = pod_path
        self._container = container
        self._stop = stop
        self._is_over = is_over
        self._asks = is_over is None
        self._pace = Pace(stop, longest=_LONGEST_WAIT)
        self._at = Position.of(after)
        self._uid = ""
        self._log = _log.bind(path=pod_path, container=container)

    def __iter__(self) -> Iterator[LogPiece]:
        """Raises NotFound when the pod is gone or another one has its name, Invalid when it has no such
        container, Forbidden when logs are not allowed; everything else is tried again."""
        while not self._stop.is_set():
            try:
                state = self._state() if self._asks else self._watched()
                if "running" in state or "terminated" in state:
                    yield from self._stream(final="terminated" in state)
                    if "terminated" in state:
                        return
                    self._asks = not self._ends()
                self._pace.pause()
            except (Unavailable, Unauthenticated) as error:
                # A silent container's log does not even begin to answer: another question tells whether one is heard.
                self._asks = True
                self._interrupted(error)

    def _watched(self) -> Object:
        """The state as it is known without a question: nobody follows a container that has not started."""
        return {"terminated": {}} if self._is_known_over() else {"running": {}}

    def _ends(self) -> bool:
        """Whether the watch of the pod says, now or in a moment, that the container has ended as its log has."""
        until = time.monotonic() + (_MOMENT if self._is_over else 0.0)
        while not self._is_known_over() and time.monotonic() < until and not self._stop.wait(_LOOK):
            pass
        return self._is_known_over()

    def _is_known_over(self) -> bool:
        return self._is_over is not None and self._is_over()

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
        over = pod.get("status", {}).get("phase") in ("Failed", "Succeeded") or self._is_known_over()
        return {"terminated": {}} if over else {}

    def _stream(self, final: bool) -> Iterator[LogPiece]:
        query = {"container": self._container, "follow": "true", "timestamps": "true"}
        if self._at.moment:
            query["sinceTime"] = self._at.stamp
        request = Request("GET", f"{self._path}/log", query)
        with closing(chunks(lambda: self._transport.open(request, _IDLE), self._stop)) as source:
            try:
                yield from self._pieces(source)
            except Invalid as error:
                # "waiting to start": the kubelet is behind the API server, or the container never ran at all.
                if not final:
                    raise Unavailable(str(error), status=error.status) from error

    def _pieces(self, source: Iterator[bytes]) -> Iterator[LogPiece]:
        reading = Reading(self._at)
        for chunk in source:
            for piece in reading.feed(chunk, time.monotonic()):
                self._at = reading.at
                self._pace.succeeded()
                yield piece
        if not self._stop.is_set():  # else half a line, or half a stamp
            for piece in reading.rest():
                self._at = reading.at
                yield piece
