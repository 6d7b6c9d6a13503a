"""Somebody else's words, made fit to be shown."""

_WORDS_LIMIT = 700  # characters of one word that goes into a sentence: a registry or an image may have written it


def printable(text: str) -> str:
    """Somebody else's words for a terminal: no control characters."""
    return "".join(char if char.isprintable() else " " for char in text)


def plain(text: str) -> str:
    """Somebody else's words on one line, without control characters, and not too many of them."""
    words = " ".join(printable(text[: 4 * _WORDS_LIMIT]).split())
    return words if len(words) <= _WORDS_LIMIT else words[: _WORDS_LIMIT - 1] + "…"
