"""How `attach` writes what several ranks say at once."""

import io
from collections.abc import Callable

import pytest

from bridge.cli import ranks
from bridge.cli.ranks import RankWriter

Write = Callable[..., bytes]


def written(*said: tuple[int, bytes], prefix: bool = False) -> bytes:
    out = io.BytesIO()
    writer = RankWriter(out, prefix=prefix)
    for rank, data in said:
        writer.write(rank, data)
    writer.finish()
    return out.getvalue()


def test_lines_of_two_ranks_do_not_mix() -> None:
    assert written((0, b"one"), (1, b"un\nde"), (0, b"\ntwo\n"), (1, b"ux\n")) == b"un\none\ntwo\ndeux\n"


def test_one_ranks_bytes_come_out_as_they_came_in() -> None:
    junk = bytes(range(256)) * 8192
    assert written(*((0, junk[start : start + 999]) for start in range(0, len(junk), 999))) == junk


@pytest.mark.parametrize("size", [1, 7, 100])
def test_every_line_has_its_prefix_once(size: int) -> None:
    text = b"one\n\nthree\r\nfour"
    parts = [(3, text[start : start + size]) for start in range(0, len(text), size)]
    assert written(*parts, prefix=True) == b"[rank 3] one\n[rank 3] \n[rank 3] three\r\n[rank 3] four"


def test_what_has_no_end_of_a_line_is_kept_until_it_has_or_nothing_more_comes() -> None:
    out = io.BytesIO()
    writer = RankWriter(out)
    writer.write(0, b"half")
    writer.make_way()
    assert out.getvalue() == b"", "a sentence between may stand before it"
    writer.finish()
    assert out.getvalue() == b"half"
    writer.make_way()
    assert out.getvalue() == b"half\n", "but not in it"


def test_a_line_longer_than_any_is_let_out_and_broken_by_others_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "LONGEST", 4)
    said = [(0, b"01234"), (0, b"56789"), (1, b"x\n"), (0, b"abcdef\n"), (0, b"y\n")]
    assert written(*said, prefix=True) == (b"[rank 0] 0123456789\n[rank 1] x\n[rank 0] abcdef\n[rank 0] y\n")
