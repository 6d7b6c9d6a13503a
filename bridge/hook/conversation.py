"""One question to the daemon and the wait for its answer, across restarts of the daemon.

The same request is sent again on every new connection; asking twice is harmless.
"""

import time

from bridge import wellknown
from bridge.hook import plain
from bridge.messages import hook as messages
from bridge.wire import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Optional

    from bridge.messages import Message as Told

    Message = dict[str, object]
else:
    import _socket as socket  # what `socket` adds to it takes as long to import as Python to start

_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", 7)  # named since Python 3.7
_PAUSE_FIRST = 0.02
_PAUSE_LONGEST = 1.0
_MARGIN_LEAST = 3.0


class NoAnswerError(Exception):
    """The daemon is not there, or does not come to an end: a sentence, of which ``cause`` has the first part."""

    def __init__(self, message: "Told", **words: object) -> None:
        Exception.__init__(self, message.sentence(**words))
        self.cause = message.cause.format(**words)


class Conversation:
    """``patience``: seconds without a daemon; ``margin``, ``last_word``: see bridge.hook.paths.Patience."""

    def __init__(
        self,
        path: str,
        request: "Message",
        scan: "Callable[[Message], Message]",
        patience: float,
        margin: float,
        last_word: float,
    ) -> None:
        self.last_note = ""
        self._path = path
        self._request = request
        self._scan = scan
        self._patience = patience
        self._margin = margin
        self._last_word = last_word
        self._started = time.monotonic()
        self._alone_since = self._started
        self._end: "Optional[float]" = None  # of everything, known since the first hello
        self._last = False
        self._greeted = False
        self._fault = ""

    def answer(self) -> "Message":
        """The daemon's last frame. Raises NoAnswerError."""
        pause = _PAUSE_FIRST
        while True:
            answer = self._try()
            if answer is not None:
                return answer
            if self._greeted:
                pause = _PAUSE_FIRST
            self._greeted = False
            time.sleep(max(0.0, min(pause, self._left())))
            pause = min(2 * pause, _PAUSE_LONGEST)

    def _try(self) -> "Optional[Message]":
        """One connection from its beginning to the answer, or None when it broke."""
        left = self._left()
        if left <= 0:
            raise self._given_up()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(left)
            sock.connect(self._path)
            channel = frames.Channel(sock)
            sock.sendall(framed(self._request))
            answer = self._listen(channel)
            if answer is not None:
                return answer
        except socket.timeout:  # an OSError from 3.10 on
            self._timed_out()
        except (OSError, frames.FrameError) as error:
            self._fault = getattr(error, "strerror", None) or str(error)
        finally:
            sock.close()
        if self._greeted:
            self._alone_since = time.monotonic()
        return None

    def _listen(self, channel: "frames.Channel") -> "Optional[Message]":
        while True:
            channel.sock.settimeout(max(0.001, self._left()))
            message = channel.receive()
            if message is None:
                self._fault = messages.CLOSED
                return None
            kind = message.get("kind")
            if kind == "answer":
                return message
            if kind == "hello":
                self._hello(message)
            elif kind == "note":
                self.last_note = str(message.get("text", ""))
            elif kind in ("mismatch", "busy"):
                # In the seconds of an upgrade hook and daemon differ; the daemon of this hook's version may be next.
                self._fault = str(message.get("sentence", ""))
                return None
            elif kind == "scan":
                channel.send(self._scan(message))

    def _hello(self, message: "Message") -> None:
        self._greeted = True
        now = time.monotonic()
        deadline, margin = message.get("remaining"), self._margin
        if not isinstance(deadline, (int, float)):
            # A daemon that counts from its first word, while Slurm's clock began with the hook: what was spent
            # before comes off the margin. Restarted it counts anew; Slurm does not, so the first end stands.
            deadline = message.get("deadline")
            margin = max(self._margin - (now - self._started), min(self._margin, _MARGIN_LEAST))
        if isinstance(deadline, (int, float)) and self._end is None:
            self._end = now + deadline + margin

    def _left(self) -> float:
        """Seconds until somebody must have said something."""
        now = time.monotonic()
        if self._greeted and self._end is not None:
            return self._end - now
        alone = self._alone_since + self._patience
        return min(alone, alone if self._end is None else self._end) - now

    def _timed_out(self) -> None:
        if not self._greeted or self._last:
            raise self._given_up()
        # It has spoken and is past its own deadline: perhaps only this connection is lost.
        self._last = True
        self._end = time.monotonic() + self._last_word

    def _given_up(self) -> "NoAnswerError":
        if self._last or self._end is not None and time.monotonic() >= self._end:
            return NoAnswerError(messages.DAEMON_UNDECIDED)
        waited = time.monotonic() - self._alone_since
        why = "%s: %s" % (self._path, self._fault or messages.MUTE)
        return NoAnswerError(messages.DAEMON_SILENT, seconds=waited, why=why)


def framed(request: "Message") -> bytes:
    """The frame of a question. Raises FrameError where it is too large."""
    return frames.framed(plain.dumps(request).encode())


def request(phase: str, bridge: bool, env: "dict[str, str]") -> "Message":
    """The question without what only the batch node adds."""
    return {
        "v": wellknown.PROTOCOL,
        "phase": phase,
        "bridge": bridge,
        "began": time.clock_gettime(_BOOT_CLOCK),
        "env": env,
        "groups": [],
        "spec": None,
        "token": None,
        "token_error": None,
    }
