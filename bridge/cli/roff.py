"""Text as manual pages have it: roff with the macros of man(7)."""

import re
import textwrap

_WIDTH = 78  # of a line of the source


def plain(text: str) -> str:
    """The text as it is, whatever characters are in it."""
    told = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", told)


def prose(text: str, between: str = ".PP") -> str:
    """A docstring or a message: what stands in backquotes is bold; ``between`` stands where an empty line does."""
    told = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", plain(text))
    return f"\n{between}\n".join(map(_filled, re.split(r"\n\n+", told)))


def _filled(paragraph: str) -> str:
    lines = textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return re.sub(r"^(?=[.'])", r"\\&", lines, flags=re.MULTILINE)  # else they would be macros


def bold(*words: str) -> str:
    """Words to be typed."""
    return " ".join(f"\\fB{plain(word)}\\fR" for word in words)


def italic(word: str) -> str:
    """A word that stands for another one."""
    return f"\\fI{plain(word)}\\fR"


def item(head: str, text: str) -> str:
    """A term, in roff, and what is said of it."""
    return f".TP\n{head}\n{prose(text, '.IP') or chr(92) + '&'}"
