"""The job's comment: the user's words, and behind a marker one sentence of ours.

A comment is `USER | k8s: SENTENCE`, or `k8s: SENTENCE` where the user wrote nothing. Only the last marker
counts, and only if no token stands behind it: a sentence of ours never has a token, so whatever has one
is the user's own, and a requeued run finds it again. A user who writes the marker without a token behind it
loses the words after it to our sentence; nothing in the comment itself could tell the two apart.
"""

import re
import unicodedata

from bridge.errors import AllocationError
from bridge.wellknown import COMMENT_JOINT, COMMENT_LIMIT, COMMENT_MARK, TOKEN

_TOKEN = re.compile(rf"(?:^|[\s,]){re.escape(TOKEN)}([^\s,]*)")
_SEAM = COMMENT_JOINT + COMMENT_MARK


def spec_path(extra: str, comment: str) -> str | None:
    """Path of the spec file that the job asks for, as it was written, or None for a job that is not ours.

    A token in `extra` wins over one in the user's part of `comment`. Raises AllocationError for a token
    without a path and for two different ones in one field.
    """
    return _token("--extra", extra) or _token("--comment", user_part(comment))


def user_part(comment: str) -> str:
    """The comment without our sentence, to the letter."""
    seam = comment.rfind(_SEAM)
    if seam >= 0 and not _TOKEN.search(comment[seam + len(_SEAM) :]):
        return comment[:seam]
    if seam < 0 and comment.startswith(COMMENT_MARK) and not _TOKEN.search(comment[len(COMMENT_MARK) :]):
        return ""
    return comment


def own_sentence(comment: str) -> str:
    """Our sentence in the comment, '' when there is none."""
    return comment[len(user_part(comment)) :].removeprefix(COMMENT_JOINT).removeprefix(COMMENT_MARK)


def with_sentence(comment: str, sentence: str) -> str:
    """The comment with our sentence in place of an earlier one, at most 1,024 bytes of UTF-8.

    The sentence is cut on a character's boundary, the user's part never; where no room is left for a
    sentence it stays away.
    """
    user = user_part(comment)
    lead = user + _SEAM if user else COMMENT_MARK
    room = COMMENT_LIMIT - len(lead.encode("utf-8", "surrogatepass"))
    ours = _plain(sentence).encode()[: max(room, 0)].decode(errors="ignore").rstrip()
    return lead + ours if ours else user


def _token(option: str, text: str) -> str | None:
    paths = set(_TOKEN.findall(text))
    if not paths:
        return None
    if "" in paths:
        raise AllocationError(f"{TOKEN} in {option} names no file: write {TOKEN}PATH, for instance {TOKEN}train.yaml")
    if len(paths) > 1:
        raise AllocationError(f"{option} names several spec files ({', '.join(sorted(paths))}): write {TOKEN}PATH once")
    return str(paths.pop())


def _plain(sentence: str) -> str:
    """One line that holds neither a marker nor a token of its own."""
    spaced = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in sentence)
    return " ".join(spaced.split()).replace(TOKEN, TOKEN[:-1] + " =").removeprefix(COMMENT_MARK).replace(_SEAM, "; ")
