"""Where a hook reaches out of its process, and what goes wrong there, once: a program that runs in the hook's place
arms failpoints and goes on as the hook (`Stage.arms` of the hook's unit tests).

A place is a function of the hook by which it touches files, other programs or the daemon.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bridge.hook import account, conversation, lingering, markers, output, scan, scontrol, spec_reader, timeline, token
from bridge.wire.frames import Channel

from .strike import is_first

_LATE = 0.3  # seconds
_HANG = 12.0  # seconds
_HARMS = ("kill-before", "kill-after", "late-after", "hang-before", "fail-before")


@dataclass(frozen=True)
class Place:
    """A function, by its owner and name. ``fail`` raises as it may, or is what it returns then; None where it never
    fails."""

    owner: Any
    name: str
    fail: Callable[[], Any] | None = None


def _raises(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


_WHY = "it failed here"
PLACES = {
    "hook.marker.write": Place(markers, "write", _raises(markers.MarkerError(_WHY))),
    "hook.marker.present": Place(markers, "present", _raises(markers.MarkerError(_WHY))),
    "hook.marker.read": Place(markers, "read", _raises(FileNotFoundError(_WHY))),
    "hook.marker.remove": Place(markers, "remove", lambda: _WHY),
    "hook.token.mint": Place(token.Mint, "collect", _raises(token.NoTokenError(_WHY))),
    "hook.account.look_up": Place(account.Lookup, "collect"),
    "hook.spec.read": Place(spec_reader, "read", _raises(spec_reader.UnreadableError(_WHY))),
    "hook.daemon.ask": Place(conversation, "framed", _raises(OSError(_WHY))),
    "hook.daemon.hear": Place(Channel, "receive", _raises(OSError(_WHY))),
    "hook.daemon.tell": Place(Channel, "send", _raises(OSError(_WHY))),
    "hook.node.scan": Place(scan, "detached", _raises(scan.ScanError(_WHY))),
    "hook.output.append": Place(output, "append", lambda: _WHY),
    "hook.timeline.leave": Place(timeline, "leave", _raises(OSError(_WHY))),
    "hook.slurm.requeue": Place(scontrol, "requeue", lambda: _WHY),
    "hook.linger": Place(lingering, "stay", _raises(OSError(_WHY))),
}


def possible(place: str) -> Iterator[str]:
    """Names of the failpoints there."""
    for harm in _HARMS:
        if harm != "fail-before" or PLACES[place].fail is not None:
            yield f"{harm}-{place}"


def arm(names: Iterable[str], struck: str, is_armed: Callable[[str], bool] = lambda _name: True, who: str = "") -> None:
    """The first of them that this hook comes to while it `is_armed` strikes. The file `struck` names it then, and `who`
    was struck."""
    for name in names:
        _arm(name, lambda name=name: is_armed(name) and is_first(struck, f"{name} {who}".strip()))  # type: ignore[misc]


def _arm(name: str, due: Callable[[], bool]) -> None:
    harm, side, place = name.split("-", 2)
    owner, attribute, fail = PLACES[place].owner, PLACES[place].name, PLACES[place].fail
    real = getattr(owner, attribute)

    def passed(*args: Any, **more: Any) -> Any:
        if side == "before" and due():
            return _strikes(harm, fail, lambda: real(*args, **more))
        answer = real(*args, **more)
        if side == "after" and due():
            return _strikes(harm, fail, lambda: answer)
        return answer

    setattr(owner, attribute, passed)


def _strikes(harm: str, fail: Callable[[], Any] | None, act: Callable[[], Any]) -> Any:
    if harm == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if harm == "fail" and fail is not None:
        return fail()
    if harm in ("late", "hang"):
        time.sleep(_LATE if harm == "late" else _HANG)
    return act()
