"""The world of the engine's tests, for what bridgectl makes of a daemon's answers."""

from tests.unit.engine.conftest import impatience, world

__all__ = ["impatience", "world"]
