"""The ranks' output as `attach` writes it: whole lines, so that those of two ranks never mix."""

from typing import BinaryIO

LONGEST = 2 * 1024 * 1024  # bytes of a line that are kept until its end has come


class RankWriter:
    """Writes what the ranks say, each line behind its rank's name if ``prefix`` says so."""

    def __init__(self, out: BinaryIO, *, prefix: bool = False) -> None:
        self._out = out
        self._prefix = prefix
        self._open: dict[int, bytes] = {}  # the beginning of a line whose end has not come
        self._split: int | None = None  # the rank in whose line the last byte written stands

    def write(self, rank: int, data: bytes) -> None:
        """Bytes of a rank, in their order; may end within a line."""
        data = self._open.pop(rank, b"") + data
        end = data.rfind(b"\n") + 1
        if end:
            self._put(rank, data[:end])
        if len(data) - end > LONGEST:
            self._put(rank, data[end:])
        elif end < len(data):
            self._open[rank] = data[end:]
        self._out.flush()

    def finish(self) -> None:
        """Nothing more comes: what has no end of a line gets out."""
        for rank, data in sorted(self._open.items()):
            self._put(rank, data)
        self._open.clear()
        self._out.flush()

    def make_way(self) -> None:
        """Somebody else writes a line of their own now."""
        self._end_line()
        self._out.flush()

    def _put(self, rank: int, data: bytes) -> None:
        head = f"[rank {rank}] ".encode() if self._prefix else b""
        if self._split != rank:
            self._end_line()
            self._out.write(head)
        # In the middle a line's end is another's beginning; what follows the last one comes later, or never.
        self._out.write(data[:-1].replace(b"\n", b"\n" + head) + data[-1:])
        self._split = None if data.endswith(b"\n") else rank

    def _end_line(self) -> None:
        if self._split is not None:
            self._out.write(b"\n")
            self._split = None
