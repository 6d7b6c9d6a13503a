"""Pure text: the job's word ``k8s=PATH``, and the first name of a Slurm node list."""

from bridge import wellknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def spec_path(extra: str, comment: str) -> "Optional[str]":
    """PATH of the first word ``k8s=PATH`` in --extra, else in --comment.

    None where there is no such word (``notk8s=x`` is none); empty where the word names no file. The
    bridge's own sentence in the comment never has the word. Several words, or an empty one beside a
    good one, are for the daemon to refuse: it reads the same two fields.
    """
    for text in (extra, comment):
        for word in text.replace(",", " ").split():
            if word.startswith(wellknown.TOKEN):
                return word[len(wellknown.TOKEN) :]
    return None


def first_node(nodes: str) -> str:
    """The first name of a node list: ``a[03-07,9]b[1-2],c`` gives ``a03b1``."""
    name = ""
    while nodes and nodes[0] != ",":
        if nodes[0] != "[":
            name += nodes[0]
            nodes = nodes[1:]
            continue
        inside, _, nodes = nodes[1:].partition("]")
        name += inside.partition(",")[0].partition("-")[0]
    return name


def printable(text: str, limit: int = 300) -> str:
    """Text that somebody else chose, fit for one line of a log or a comment."""
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
