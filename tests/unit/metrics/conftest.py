"""The world of the engine's tests."""

from tests.unit.engine.conftest import impatience, world

__all__ = ["impatience", "world"]
