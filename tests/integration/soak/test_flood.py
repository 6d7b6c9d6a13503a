"""A minute at full speed: `make flood`. Not a part of `make test`, which has two seconds of it."""

import os

from ..flood import flood
from ..stack import Stack


def test_a_minute_at_full_speed(stack: Stack) -> None:
    flood(stack, int(os.environ.get("SKB_FLOOD", "60")))
