"""Requests to the API server: deadlines, retries, a fresh credential, and errors in the bridge's words."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from urllib.parse import urlencode

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from bridge import __version__, heard
from bridge.errors import RemoteError, Unauthenticated, Unavailable
from bridge.kube.answers import decoded, refusal
from bridge.kube.api import Object
from bridge.kube.credentials import Credentials
from bridge.kube.library import TRANSPORT_ERRORS, Response, Session, Timeout
from bridge.kube.patience import Patience
from bridge.kube.standing import ServerClock, Standing, why_refused, why_untrusted
from bridge.kube.stream import pieces

_ATTEMPTS = 3  # of a call that may be repeated
_FIRST_SHARE = 0.6  # of the time for the first attempt: a slow list passes, a dead connection leaves time to retry
_LAST_BEGIN = 0.8  # of the time: behind it no further attempt begins, which would be work for the server and no answer
_BODY_LIMIT = 64 * 1024 * 1024  # bytes of one answer; a page of pods has 5 to 15 MB
_PAGE = 500  # objects of one page of a list, as client-go does
_CHUNK = 65536
_REPEATABLE = frozenset({"GET", "DELETE"})  # a patch with tests and a create answer differently when repeated

JSON = "application/json"
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
"""Of a list each object's metadata: a tenth of its bytes, and nothing of what users wrote."""

_Result = TypeVar("_Result")

_jitter = wait_random_exponential(multiplier=0.1, max=1.0)


@dataclass(frozen=True)
class Request:
    """One request; ``body`` is serialised as JSON."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = JSON
    accept: str = JSON

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def verb(self) -> str:
        """What is counted: a watch is no question that has one answer."""
        return "WATCH" if "watch" in self.query else self.method


class Transport:
    """The connection to one API server, shared by all threads."""

    def __init__(
        self,
        kubeconfig: Path,
        timeout: float,
        server: str = "",
        patient: bool = False,
        agent: str = "slurm-k8s-bridge",
        told: heard.Heard = heard.by_nobody,
    ) -> None:
        """``timeout``: seconds for one call, retries included, and more while the server is slower than that;
        ``server`` the only one that may be named, '' for any; ``agent`` who asks, as the API server's audit log has it;
        ``told`` of each answer. Raises ConfigError; ``patient``: each call does, until the kubeconfig can be used."""
        self._told = told
        self._patience = Patience(timeout)
        self._agent = f"{agent}/{__version__}"
        self._credentials = Credentials(kubeconfig, server, patient)
        self._clock = ServerClock()
        self._closed = Event()
        self.streams_lists = True  # until the server has refused a watch that begins with what is there

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._credentials.session().host

    def close(self) -> None:
        """Ends waiting retries and closes the idle connections."""
        self._closed.set()
        self._credentials.close()

    def identity(self) -> str:
        """The Node that the credential is bound to, '' where it says none."""
        return self._credentials.session().node

    def standing(self) -> Standing:
        """How the credential is, and the clock beside the server's."""
        return replace(self._credentials.standing(), ahead=self._clock.ahead())

    def patience(self) -> float:
        """Seconds for the next call."""
        return self._patience.seconds

    def call(self, request: Request) -> Object:
        """The object that the server answers, within the time-out. Raises the errors of `bridge.errors`."""
        return self._repeated(request, self._attempt)

    def lines(self, request: Request, is_last: Callable[[bytes], bool]) -> list[bytes]:
        """The lines of a long answer up to the one that is the last, or up to its end, within the time-out of a call.
        What comes behind is not waited for: the connection is closed. Raises the errors of `bridge.errors`, and what
        ``is_last`` raises."""
        return self._repeated(request, partial(self._lines, is_last))

    def _repeated(self, request: Request, attempt: Callable[[Request, float, float], _Result]) -> _Result:
        with self._patience.of_a_call() as seconds:
            attempts = _ATTEMPTS if request.method in _REPEATABLE else 1
            retrying = Retrying(
                retry=retry_if_exception_type(Unavailable),
                stop=stop_after_attempt(attempts) | stop_before_delay(seconds * _LAST_BEGIN),
                wait=_pause,
                sleep=sleep_using_event(self._closed),
                reraise=True,
            )
            first = seconds * _FIRST_SHARE if attempts > 1 else seconds
            return retrying(attempt, request, time.monotonic() + seconds, first)

    def pages(self, path: str, query: Mapping[str, str], accept: str = JSON) -> Iterator[tuple[list[Object], str]]:
        """A list, page by page, each with the list's resource version. All pages show the same moment.

        Without a resourceVersion in the query: read from etcd's quorum, never from a stale cache.
        """
        asked = {**query, "limit": str(_PAGE)}
        while True:
            answer = self.call(Request("GET", path, asked, accept=accept))
            items, metadata = answer.get("items"), answer.get("metadata")
            if items is None and "items" in answer and answer.get("kind") == "PartialObjectMetadataList":
                items = []  # the API server writes null where there are none, in these lists alone (tried on 1.36)
            if not isinstance(items, list) or not isinstance(metadata, dict):
                # An empty answer proves nothing: only a list without items says that there are none.
                raise Unavailable(f"The API server's answer for {path} is not a list")
            yield items, str(metadata.get("resourceVersion", ""))
            if not metadata.get("continue"):
                return
            asked["continue"] = str(metadata["continue"])
            asked.pop("resourceVersion", None)  # the continuation has its own, and the server refuses both

    def open(self, request: Request, idle: float) -> Response:
        """A long answer, to be read and closed by the caller; ``idle``: seconds between two reads at most."""
        seconds = self._patience.seconds
        response = self._send(request, (seconds, idle))
        if response.status != 200:
            raise self._refusal(response, _drained(response, time.monotonic() + seconds))
        return response

    def text(self, request: Request) -> bytes:
        """A short answer that is no object, within the time-out. Raises the errors of `bridge.errors`."""
        with self._patience.of_a_call() as seconds:
            ends = time.monotonic() + seconds
            response = self._send(request, seconds)
            body = _drained(response, ends)
            if response.status != 200:
                raise self._refusal(response, body)
            return body

    def _attempt(self, request: Request, deadline: float, most: float) -> Object:
        """``most``: seconds that it may take; behind the first one there are fewer until the deadline."""
        seconds = min(deadline - time.monotonic(), most)
        ends = time.monotonic() + seconds
        response = self._send(request, seconds)
        body = _drained(response, ends)
        if 200 <= response.status < 300:
            return decoded(body)
        raise self._refusal(response, body)

    def _lines(self, is_last: Callable[[bytes], bool], request: Request, deadline: float, most: float) -> list[bytes]:
        """``most``: as of `_attempt`."""
        seconds = min(deadline - time.monotonic(), most)
        ends = time.monotonic() + seconds
        response = self._send(request, seconds)
        if response.status != 200:
            raise self._refusal(response, _drained(response, ends))
        with closing(response):
            return list(_up_to(is_last, _read(response, ends)))

    def _send(self, request: Request, timeout: Timeout) -> Response:
        session = self._credentials.session()
        response = self._answer(session, request, timeout)
        if response.status == 401:  # once more with what the files say now; a refused request had no effect
            response.close()
            response = self._answer(self._credentials.renew(session), request, timeout)
        return response

    def _answer(self, session: Session, request: Request, timeout: Timeout) -> Response:
        headers = {"Accept": request.accept, "User-Agent": self._agent}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        try:
            response = translated(
                lambda: session.send(request.method, request.target, headers, request.body, timeout),
                session.host,
                self._clock,
            )
        except Unavailable:
            self._told(request.verb, None)
            raise
        self._told(request.verb, response.status)
        self._clock.heard(response.headers.get("Date", ""))
        return response

    def _refusal(self, response: Response, body: bytes) -> RemoteError:
        error = refusal(response.status, response.headers, body)
        if isinstance(error, Unauthenticated):
            reason, words = why_refused(self.standing())
            return Unauthenticated(f"{error}, {words}", status=error.status, reason=reason) if reason else error
        return error


def _pause(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    # What the server asks for, and the jitter besides: whom it has turned away together must not come back together.
    return _jitter(state) + (error.retry_after if isinstance(error, Unavailable) else 0.0)


def _drained(response: Response, deadline: float) -> bytes:
    """The whole body; the connection goes back to the pool. Raises Unavailable, past the deadline too."""
    try:
        return b"".join(_read(response, deadline))
    except Unavailable:
        response.close()
        raise


def _read(response: Response, deadline: float) -> Iterator[bytes]:
    """The body, as it comes. Raises Unavailable, past the deadline too."""
    size = 0
    while chunk := translated(lambda: response.read1(_CHUNK), "the API server"):
        size += len(chunk)
        if size > _BODY_LIMIT:
            raise Unavailable(f"The API server's answer has more than {_BODY_LIMIT} bytes")
        if time.monotonic() > deadline:
            raise Unavailable("The API server's answer did not end in time")
        yield chunk


def _up_to(is_last: Callable[[bytes], bool], chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines in them, with the one that is the last."""
    for line in pieces(chunks, _BODY_LIMIT):
        yield line
        if is_last(line):
            return


def translated(act: Callable[[], _Result], who: str, server_clock: ServerClock | None = None) -> _Result:
    """What ``act`` returns; whatever keeps an answer from coming is Unavailable."""
    try:
        return act()
    except TRANSPORT_ERRORS as error:
        reason, words = why_untrusted(error, None if server_clock is None else server_clock.ahead())
        told = f"{who}: {words}" if reason else f"No answer from {who}: {' '.join(str(error).split())}"
        raise Unavailable(told, reason=reason) from error
