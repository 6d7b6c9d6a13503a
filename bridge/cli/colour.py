"""Colour for the one word of a line that matters, where a person looks on: on a terminal, unless NO_COLOR is set."""

import os
from enum import Enum
from typing import TextIO


class Colour(Enum):
    """By what it means; the number is ECMA-48's."""

    GOOD = 32
    DOUBT = 33
    BAD = 31


def painted(word: str, colour: Colour, stream: TextIO) -> str:
    """The word as it is to be written to this stream."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb" or not stream.isatty()
    return word if plain else f"\x1b[{colour.value}m{word}\x1b[0m"
