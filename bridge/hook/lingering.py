"""The child that a failed epilog leaves behind: it asks on until the run is proven gone.

The daemon may not look into other users' processes, and a node that was drained for the missing proof gets no hook
that could. So somebody of root's stays, waits on the daemon like an epilog, and scans when it is told to. slurmd does
not wait for it: it has none of the hook's descriptors.
"""

import time

from bridge.hook import child, conversation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from bridge.hook.conversation import Message
    from bridge.hook.paths import Paths, Patience


def stay(
    question: "Message",
    places: "Paths",
    patience: "Patience",
    scan: "Callable[[Message], Message]",
    unmark: "Callable[[Message], None]",
) -> None:
    """Start the child. ``unmark`` removes the markers that an answer names. Raises OSError when fork fails."""

    def ask_on() -> bytes:
        while not _is_proven(question, places, patience, scan, unmark):
            time.sleep(patience.again)
        return b""

    child.start(ask_on, patience.lingering)


def _is_proven(
    question: "Message",
    places: "Paths",
    patience: "Patience",
    scan: "Callable[[Message], Message]",
    unmark: "Callable[[Message], None]",
) -> bool:
    asked = {**conversation.request("epilog", True, {}), "env": question["env"], "lingers": True}
    if "marker" in question:
        asked["marker"] = question["marker"]
    talk = conversation.Conversation(places.socket, asked, scan, patience.epilog, patience.margin, patience.last_word)
    try:
        answer = talk.answer()
    except conversation.NoAnswerError:
        return False  # it has waited for long
    unmark(answer)
    return answer.get("exit") == 0
