"""The catalogue of messages: what the bridge tells a person, each with a name, a cause, a consequence and a cure.

One page for each speaker; a room imports its own page as `messages`. What the bridge observes of jobs and nodes has its
row in `job.faults`; docs/reference/messages.md, made by `make docs`, has both. The hook imports this file too: Python
3.6 syntax, no imports.
"""


class Message:
    """One message. ``cause`` and ``cure`` are templates, together the sentence that is told; ``consequence`` is what
    becomes of what was asked for, and of the job where that is touched."""

    __slots__ = ("cause", "consequence", "cure", "name")

    def __init__(self, name: str, cause: str, consequence: str, cure: str) -> None:
        self.name = name
        self.cause = cause
        self.consequence = consequence
        self.cure = cure

    def sentence(self, **words: object) -> str:
        """The message with these words in it, and its name to look it up by."""
        cause, cure = self.cause.format(**words), self.cure.format(**words)
        return f"{cause} [{self.name}]; {cure}"

    def told(self, **words: object) -> "dict[str, str]":
        """Its parts with these words in them, for who shows each of them."""
        parts = {"cause": self.cause.format(**words), "cure": self.cure.format(**words)}
        return {"name": self.name, "cause": parts["cause"], "consequence": self.consequence, "cure": parts["cure"]}
