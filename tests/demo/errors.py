"""The one error that the demo ends with."""


class DemoError(Exception):
    """What is not as it should be, in one sentence."""
