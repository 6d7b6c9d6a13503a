"""The one error that the stack's commands end with."""

from __future__ import annotations


class StackError(Exception):
    """What is missing or broken, and the cure, in one sentence."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(f"{cause}: {cure}")
        self.cause = cause
        self.cure = cure
