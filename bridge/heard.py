"""Who is told of each answer of a server: something to count, for whoever wants to."""

from collections.abc import Callable

Heard = Callable[[str, int | None], None]
"""What was asked (a method of HTTP, or WATCH), and the answer's status; None where none came."""


def by_nobody(_verb: str, _status: int | None) -> None:
    """Nobody counts."""
