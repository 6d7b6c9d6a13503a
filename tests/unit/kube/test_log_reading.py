"""A log's bytes: whatever way they are cut and however often the stream begins anew, each comes once."""

import random
from collections.abc import Iterator

import pytest

from bridge.kube.api import LogPiece
from bridge.kube.log_reading import Position, Reading

MIB = 1024 * 1024


def stamp(nanos: int) -> str:
    return f"2026-01-01T00:{nanos // 10**9 // 60:02d}:{nanos // 10**9 % 60:02d}.{nanos % 10**9:09d}Z"


def log_of(rng: random.Random, lines: int) -> list[tuple[int, bytes]]:
    """Lines with their moments, some of which are the same."""
    moment, log = 0, []
    for number in range(lines):
        moment += rng.choice([0, 0, 1, 900, 400_000_000])
        body = rng.randbytes(rng.choice([0, 1, 30, 300])).replace(b"\n", b"")
        if rng.random() < 0.02:
            body = b"long " + rng.randbytes(200_000).replace(b"\n", b"")
        log.append((moment, b"%d " % number + body + b"\n"))
    return log


def served(log: list[tuple[int, bytes]], at: Position) -> bytes:
    """As the kubelet answers: from the whole second of the position on."""
    since = at.moment // 10**9 * 10**9 - _EPOCH if at.moment else 0
    return b"".join(stamp(moment).encode() + b" " + line for moment, line in log if moment >= since)


_EPOCH = Position.of(stamp(0)).moment


def read(reading: Reading, stream: bytes, rng: random.Random, until: int) -> Iterator[LogPiece]:
    start = 0
    while start < until:
        size = rng.choice([1, 50, 5000, 65536])
        yield from reading.feed(stream[start : min(start + size, until)], float(start))
        start += size


@pytest.mark.parametrize("seed", range(12))
def test_over_broken_streams_every_byte_comes_once(seed: int) -> None:
    rng = random.Random(seed)
    log = log_of(rng, 400)
    at, said = Position(), b""
    for opening in range(40):
        stream = served(log, at)
        last = opening == 39
        reading = Reading(at)
        for piece in read(reading, stream, rng, len(stream) if last else rng.randrange(len(stream) + 1)):
            assert not piece.gap
            said += piece.data
            at = Position.of(piece.position)
            if not last and rng.random() < 0.05:
                break  # the daemon was killed: all that is left is what the reader told
    assert said == b"".join(line for _, line in log)


def test_the_end_of_a_stream_is_passed_on_without_a_newline_and_goes_on_there() -> None:
    first, again = Reading(Position()), None
    pieces = [*first.feed(stamp(5).encode() + b" half", 0.0), *first.rest()]
    assert [piece.data for piece in pieces] == [b"half"]
    again = Reading(Position.of(pieces[-1].position))
    assert [piece.data for piece in again.feed(stamp(5).encode() + b" half a line\n", 0.0)] == [b" a line\n"]


def test_lines_of_one_moment_that_come_one_by_one_are_counted() -> None:
    lines = [stamp(5).encode() + b" %d\n" % number for number in range(4)]
    reading = Reading(Position())
    for line in lines[:3]:
        (last,) = reading.feed(line, 0.0)
    again = Reading(Position.of(last.position))
    assert [piece.data for piece in again.feed(b"".join(lines), 0.0)] == [b"3\n"]


def test_half_a_stamp_is_no_output() -> None:
    reading = Reading(Position())
    assert [*reading.feed(b"2026-01-0", 0.0), *reading.rest()] == []


@pytest.mark.parametrize(
    "block",
    [b"failed to open the log\n", stamp(1).encode() + b" one\nunexpected EOF\n" + stamp(2).encode() + b" two\n"],
)
def test_what_has_no_stamp_is_the_runtimes_own_word(block: bytes) -> None:
    said = b"".join(piece.data for piece in Reading(Position()).feed(block, 0.0))
    assert said in (b"", b"one\ntwo\n")
    assert (said == b"") == (b"one" not in block)


# -- positions


@pytest.mark.parametrize(
    "position", [Position(), Position(stamp(7), _EPOCH + 7, 3, 0), Position(stamp(7), _EPOCH + 7, 0, 70_000)]
)
def test_a_position_is_read_as_it_is_told(position: Position) -> None:
    assert Position.of(str(position)) == position


def test_a_stamp_alone_is_behind_all_lines_of_its_moment() -> None:
    text = b"".join(stamp(moment).encode() + b" %d\n" % moment for moment in (6, 7, 7, 8))
    pieces = Reading(Position.of(stamp(7))).feed(text, 0.0)
    assert b"".join(piece.data for piece in pieces) == b"8\n"


@pytest.mark.parametrize(
    "told", ["", "yesterday", stamp(1) + " 1", stamp(1) + " x 0", stamp(1) + " 1 -1", "\udcff", " "]
)
def test_of_anything_else_it_is_the_beginning(told: str) -> None:
    assert Position.of(told) == Position()


# -- gaps


def flood(first: int, last: int, size: int) -> bytes:
    """Lines of a hundred bytes whose moments lie evenly between these."""
    count = size // 131
    step = (last - first) // count
    return b"".join(stamp(first + step * number).encode() + b" " + b"x" * 99 + b"\n" for number in range(count))


def gaps(reading: Reading, stream: bytes, now: float) -> int:
    chunks = range(0, len(stream), 65536)
    return sum(piece.gap for start in chunks for piece in reading.feed(stream[start : start + 65536], now))


def test_a_jump_of_the_stamps_in_a_flood_is_a_gap() -> None:
    reading = Reading(Position())
    assert gaps(reading, flood(0, 10**9, 9 * MIB), 0.0) == 0
    assert gaps(reading, flood(20 * 10**9, 21 * 10**9, MIB), 0.5) == 1
    assert gaps(reading, flood(40 * 10**9, 41 * 10**9, MIB), 0.5) == 0, "no file is as short as that"


def test_a_pause_is_none() -> None:
    reading = Reading(Position())
    assert gaps(reading, flood(0, 10**9, 9 * MIB), 0.0) == 0
    assert gaps(reading, flood(60 * 10**9, 61 * 10**9, MIB), 60.0) == 0


def test_a_position_whose_line_is_not_there_any_more_is_a_gap() -> None:
    at = Position(stamp(5), _EPOCH + 5, 1)
    pieces = list(Reading(at).feed(stamp(9).encode() + b" later\n", 0.0))
    assert [(piece.gap, piece.data) for piece in pieces] == [(True, b""), (False, b"later\n")]
    assert pieces[0].position == str(at)
