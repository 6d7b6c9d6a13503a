"""Frames on the bridge's sockets: a decimal length line, then that many bytes of one JSON object.

Used by the hook (stdlib only, Python 3.6 syntax), the daemon and bridgectl.
The first frame of a connection carries ``"v"``, the protocol version.
"""

import time

TYPE_CHECKING = False  # importing typing or socket would cost the hook a millisecond each
if TYPE_CHECKING:
    import socket

FRAME_LIMIT = 2 * 1024 * 1024  # a 1 MiB spec in base64, with room for the environment
_LENGTH_DIGITS = 8


class FrameError(Exception):
    """The peer sent something that is no frame, or closed in the middle of one."""


def encode(message):
    # type: (dict[str, object]) -> bytes
    """One JSON object as a frame."""
    import json  # eight milliseconds of the hook's start, which writes its first frame without it

    return framed(json.dumps(message, separators=(",", ":")).encode())


def framed(body):
    # type: (bytes) -> bytes
    """The frame of one JSON object."""
    if len(body) > FRAME_LIMIT:
        raise FrameError("frame of %d bytes is over the limit of %d" % (len(body), FRAME_LIMIT))
    return b"%d\n%s" % (len(body), body)


class Decoder:
    """Bytes in, messages out; holds at most one incomplete frame."""

    def __init__(self, limit=FRAME_LIMIT):
        # type: (int) -> None
        self._limit = limit
        self._buffer = b""

    def feed(self, data):
        # type: (bytes) -> list[dict[str, object]]
        """Messages completed by these bytes.

        Raises FrameError on anything that is no frame or over the limit.
        """
        self._buffer += data
        messages = []  # type: list[dict[str, object]]
        while True:
            message = self._next()
            if message is None:
                return messages
            messages.append(message)

    @property
    def pending(self):
        # type: () -> bool
        """Whether a frame has begun and not ended."""
        return bool(self._buffer)

    def _next(self):
        # type: () -> dict[str, object] | None
        head, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            if len(head) > _LENGTH_DIGITS:
                raise FrameError("no length line at the start of a frame")
            return None
        if not head.isdigit() or len(head) > _LENGTH_DIGITS:
            raise FrameError("no length line at the start of a frame")
        size = int(head)
        if size > self._limit:
            raise FrameError("frame of %d bytes is over the limit of %d" % (size, self._limit))
        if len(rest) < size:
            return None
        self._buffer = rest[size:]
        return _parse(rest[:size])


def _parse(body):
    # type: (bytes) -> dict[str, object]
    import json  # see `encode`

    try:
        message = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise FrameError("frame is not JSON") from error
    if not isinstance(message, dict):
        raise FrameError("frame is not a JSON object")
    return message


class Channel:
    """A connected stream socket that speaks frames, blocking."""

    def __init__(self, sock, limit=FRAME_LIMIT):
        # type: (socket.socket, int) -> None
        self.sock = sock
        self._decoder = Decoder(limit)
        self._ready = []  # type: list[dict[str, object]]
        self._hurry = None  # type: float | None

    def hurry(self, seconds):
        # type: (float) -> None
        """The next message has to be whole within so many seconds, and no wait after it is longer either."""
        self._hurry = seconds

    def send(self, message):
        # type: (dict[str, object]) -> None
        """Send one message whole; raises OSError."""
        self.sock.sendall(encode(message))

    def receive(self):
        # type: () -> dict[str, object] | None
        """The next message, or None when the peer closed between frames.

        Raises FrameError, and OSError (socket.timeout where the socket has one).
        """
        seconds, self._hurry = self._hurry, None
        end = None if seconds is None else time.monotonic() + seconds
        while not self._ready:
            if end is not None:  # each part of a frame that comes in drops would begin the time-out anew
                self.sock.settimeout(max(0.001, end - time.monotonic()))
            data = self.sock.recv(65536)
            if not data:
                if self._decoder.pending:
                    raise FrameError("peer closed in the middle of a frame")
                return None
            self._ready = self._decoder.feed(data)
        if seconds is not None:
            self.sock.settimeout(seconds)
        return self._ready.pop(0)

    def close(self):
        # type: () -> None
        """Close the socket; the peer sees the end of the stream."""
        self.sock.close()
