"""What a log's stream of bytes says: pieces of output, each with the position behind it. No I/O, no clock.

What is known of the server (kubelet 1.27 to 1.36): with ``timestamps`` each line starts with the stamp of its
first fragment; ``sinceTime`` reaches the kubelet in whole seconds, so lines come again; only the newest of the
kubelet's rotated files is read; what is no line of the log (an error of the runtime) comes without a stamp.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import structlog

from bridge.kube.api import LogPiece

_log = structlog.get_logger(__name__)

_PIECE = 64 * 1024  # bytes of a line that are passed on without its end
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")
_STAMPS = re.compile(rb"^" + _STAMP.pattern + rb" ", re.MULTILINE)
_SECOND = 10**9  # nanoseconds
_ALL_LINES = 10**18 - 1  # of a moment, however many it has

# A rank that writes faster than its log is read: the kubelet's reader goes to the newest file when it has come to the
# end of one, and those in between are lost. No server says so. It shows as a jump of the stamps in which no time has
# passed here, and only after as much as the smallest file that sites have.
_JUMP = 2 * _SECOND
_FILE = 8 * 1024 * 1024  # bytes; the kubelet's default is 10 MiB


@dataclass(frozen=True)
class Position:
    """How far a log was read: all lines before ``moment`` (ns since the epoch, of ``stamp``), the first ``lines`` of
    that very moment, and ``passed`` bytes of the next."""

    stamp: str = ""
    moment: int = 0
    lines: int = 0
    passed: int = 0

    def __str__(self) -> str:
        return f"{self.stamp} {self.lines} {self.passed}"

    @classmethod
    def of(cls, told: str) -> "Position":
        """What `str` made of one; of a stamp alone, behind all lines of that moment, as an older `attach` tells it. Of
        anything else the beginning."""
        stamp, *counts = told.split(" ")
        moment = _moment(stamp.encode("utf-8", "replace"))
        if moment is None or not all(re.fullmatch(r"[0-9]{1,18}", count) for count in counts):
            return cls()
        match counts:
            case []:
                return cls(stamp, moment, _ALL_LINES)
            case [lines, passed]:
                return cls(stamp, moment, int(lines), int(passed))
        return cls()


class Reading:
    """One opening of a log, fed with its bytes; it leaves out what an earlier opening has passed on.

    Only until it has caught up: a clock that was set back must not hide lines.
    """

    def __init__(self, at: Position) -> None:
        self.at = at
        self._sought = at if at.moment else None  # not reached yet
        self._found = False  # the moment of ``_sought`` was seen
        self._of_moment = 0
        self._buffer = bytearray()
        self._in_line = False  # the head of a long line was passed on, or left out
        self._skip: int | None = 0  # bytes of this line that were passed on earlier; None for all of it
        self._read = 0  # bytes since the opening or the last gap
        self._arrived: float | None = None

    def feed(self, chunk: bytes, now: float) -> Iterator[LogPiece]:
        """The pieces that are whole with this chunk, which came at ``now`` (seconds of a clock that is never set)."""
        waited = 0.0 if self._arrived is None else now - self._arrived
        self._arrived = now
        self._read += len(chunk)
        self._buffer += chunk
        if self._in_line:
            yield from self._rest_of_line()
        if not self._in_line:
            end = self._buffer.rfind(b"\n") + 1
            if end:
                block = bytes(self._buffer[:end])
                del self._buffer[:end]
                yield from self._lines(block, waited)
            if len(self._buffer) > _PIECE:
                yield from self._part(bytes(self._buffer), begins=True)
                self._buffer.clear()

    def rest(self) -> Iterator[LogPiece]:
        """The stream has ended properly: the last line has no newline."""
        if self._buffer:
            yield from self._part(bytes(self._buffer), begins=not self._in_line)
            self._buffer.clear()

    def _rest_of_line(self) -> Iterator[LogPiece]:
        end = self._buffer.find(b"\n") + 1
        if end or len(self._buffer) >= _PIECE:
            data = bytes(self._buffer[: end or None])
            del self._buffer[: len(data)]
            yield from self._part(data, begins=False)

    def _lines(self, block: bytes, waited: float) -> Iterator[LogPiece]:
        """Whole lines."""
        while self._sought is not None and block:
            end = block.index(b"\n") + 1
            line, block = block[:end], block[end:]
            yield from self._part(line, begins=True)
        if not block:
            return
        data, count = _STAMPS.subn(b"", block)
        if count != block.count(b"\n"):
            block = b"".join(line + b"\n" for line in block.split(b"\n")[:-1] if _is_stamped(line))
            data = _STAMPS.sub(b"", block)
        if not block:
            return
        behind = self._behind(block)
        jump = behind.moment - self.at.moment - int(waited * _SECOND)
        if self.at.moment and jump > _JUMP and self._read > _FILE:
            self._read = 0
            yield LogPiece(str(self.at), b"", gap=True)
        self.at = behind
        yield LogPiece(str(self.at), data)

    def _behind(self, block: bytes) -> Position:
        """The position behind these lines, all of which have a stamp."""
        last = block[block.rfind(b"\n", 0, -1) + 1 :]
        stamp = last.partition(b" ")[0]
        lines, start = 1, len(block) - len(last)
        while start:
            previous = block.rfind(b"\n", 0, start - 1) + 1
            if not block.startswith(stamp + b" ", previous):
                break
            lines, start = lines + 1, previous
        moment = _moment(stamp) or 0
        if not start and moment == self.at.moment:
            lines += self.at.lines
        self._of_moment = lines
        return Position(stamp.decode(), moment, lines)

    def _part(self, data: bytes, begins: bool) -> Iterator[LogPiece]:
        """A line, or a part of one."""
        if begins:
            stamp, _, data = data.partition(b" ")
            yield from self._begin(stamp)
        ends = data.endswith(b"\n")
        self._in_line = not ends
        if self._skip is None:
            return
        new, self._skip = data[self._skip :], max(self._skip - len(data), 0)
        at = self.at
        self.at = (
            Position(at.stamp, at.moment, at.lines + 1)
            if ends
            else Position(at.stamp, at.moment, at.lines, at.passed + len(new))
        )
        if new:
            yield LogPiece(str(self.at), new)

    def _begin(self, stamp: bytes) -> Iterator[LogPiece]:
        """A line begins: how much of it was passed on already."""
        moment = _moment(stamp)
        if moment is None:
            _log.warning("log_line_unstamped", begins=stamp[:80].decode("ascii", "replace"))
            self._skip = None
            return
        if self._sought is not None and moment < self._sought.moment:
            self._skip = None
            return
        if moment != self.at.moment:
            if self._sought is not None and not self._found and self._sought.lines + self._sought.passed:
                yield LogPiece(str(self.at), b"", gap=True)  # its file was rotated away
            self.at = Position(stamp.decode(), moment)
            self._of_moment = 0
        else:
            self._found = True
        seen = self._of_moment < self.at.lines
        self._of_moment += 1
        self._skip = None if seen else self.at.passed
        if not seen:
            self._sought = None


def _is_stamped(line: bytes) -> bool:
    if _STAMPS.match(line):
        return True
    _log.warning("log_line_unstamped", begins=line[:80].decode("ascii", "replace"))
    return False


def _moment(stamp: bytes) -> int | None:
    """Nanoseconds since the epoch, so that stamps of two time zones compare; None for what is no stamp."""
    match = _STAMP.fullmatch(stamp)
    if not match:
        return None
    seconds, fraction, zone = (part.decode() for part in match.groups(b""))
    try:
        moment = datetime.fromisoformat(seconds + zone.replace("Z", "+00:00"))
    except ValueError:
        return None
    return int(moment.astimezone(UTC).timestamp()) * _SECOND + int(fraction.ljust(9, "0"))
