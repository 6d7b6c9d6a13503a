"""Slurm's compressed lists, expanded as Slurm itself expands them.

The order is the rank order of a run, so it is Slurm's and never sorted. It was read off
`scontrol show hostnames` of Slurm 24.11: within one word the last bracket turns fastest, and of the
others the one nearest to it turns slowest.
"""

import itertools
import re
from collections.abc import Iterator

from bridge.errors import AllocationError

NODES_LIMIT = 65536  # MAX_SLURM_NODES of slurm.h
TEXT_LIMIT = 262144  # characters; 65,536 uncompressed names do not come in one variable

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_COUNT = re.compile(r"(\d{1,9})(?:\(x(\d{1,9})\))?")
_PIECE = re.compile(r"([^\[\]]*)(?:\[([^\[\]]*)\])?")

_Range = tuple[int, int, int]  # lowest, highest, digits


def expand(text: str, limit: int = NODES_LIMIT) -> tuple[str, ...]:
    """The host names of a Slurm node list, in Slurm's order, duplicates kept.

    Raises AllocationError, naming the faulty part, for what Slurm would not accept either and for a
    list of more than `limit` names; nothing is expanded before its length is known.
    """
    if len(text) > TEXT_LIMIT:
        raise AllocationError(f"node list of {len(text)} characters: at most {TEXT_LIMIT} are read")
    parsed = [_parse(word) for word in _words(text)]
    total = sum(_size(brackets) for _, brackets in parsed)
    if total > limit:
        raise AllocationError(f"node list {_short(text)} names {total} hosts: at most {limit} are read")
    return tuple(name for fixed, brackets in parsed for name in _names(fixed, brackets))


def count_list(text: str, limit: int = NODES_LIMIT) -> tuple[int, ...]:
    """Numbers per node from Slurm's compressed form: `2(x2),1` is (2, 2, 1).

    Raises AllocationError naming the faulty part, or when there are more than `limit` numbers.
    """
    counts: list[int] = []
    for item in text.split(","):
        match = _COUNT.fullmatch(item.strip())
        if match is None:
            raise AllocationError(f"count list {_short(text)}: {_short(item)} is not N or N(xTIMES)")
        times = int(match[2] or 1)
        if len(counts) + times > limit:
            raise AllocationError(f"count list {_short(text)} has more than {limit} numbers")
        counts.extend([int(match[1])] * times)
    return tuple(counts)


def _words(text: str) -> Iterator[str]:
    """Splits at commas and white space outside brackets; empty words are skipped, as Slurm does."""
    start = depth = 0
    for place, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise AllocationError(f"node list {_short(text)}: brackets do not match")
        if depth == 0 and (char == "," or char.isspace()):
            if place > start:
                yield text[start:place]
            start = place + 1
    if depth:
        raise AllocationError(f"node list {_short(text)}: a bracket is not closed")
    if start < len(text):
        yield text[start:]


def _parse(word: str) -> tuple[list[str], list[list[_Range]]]:
    """The fixed texts around the brackets of one word (one more than brackets), and their ranges."""
    fixed: list[str] = []
    brackets: list[list[_Range]] = []
    tail = ""
    for match in _PIECE.finditer(word):
        if match[2] is None:
            tail += match[1]
            continue
        fixed.append(match[1])
        brackets.append([_range(item, word) for item in match[2].split(",")])
    return [*fixed, tail], brackets


def _range(item: str, word: str) -> _Range:
    match = _RANGE.fullmatch(item)
    if match is None:
        raise AllocationError(f"node list part {_short(word)}: {_short(item)} is not a number or a range")
    low, high = int(match[1]), int(match[2] or match[1])
    if high < low:
        raise AllocationError(f"node list part {_short(word)}: the range {item} runs backwards")
    return low, high, len(match[1])


def _size(brackets: list[list[_Range]]) -> int:
    size = 1
    for ranges in brackets:
        size *= sum(high - low + 1 for low, high, _ in ranges)
    return size


def _names(fixed: list[str], brackets: list[list[_Range]]) -> Iterator[str]:
    turning = [list(_numbers(ranges)) for ranges in brackets]
    slowest_first = [*reversed(turning[:-1]), *turning[-1:]]
    for chosen in itertools.product(*slowest_first):
        numbers = [*reversed(chosen[:-1]), *chosen[-1:], ""]
        yield "".join(text + number for text, number in zip(fixed, numbers, strict=True))


def _numbers(ranges: list[_Range]) -> Iterator[str]:
    for low, high, digits in ranges:
        for number in range(low, high + 1):
            yield f"{number:0{digits}d}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")
