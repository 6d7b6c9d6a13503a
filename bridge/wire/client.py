"""Asking the daemon of this node over its user socket."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge import wellknown
from bridge.errors import BridgeError
from bridge.messages.bridgectl import DAEMON_MUTE, DAEMON_UNREACHED
from bridge.wire.frames import Channel, FrameError


class DaemonGone(BridgeError):
    """No daemon answers on this node, or it went away in mid-sentence."""


PATIENCE = 120.0  # seconds until the first word: the socket is systemd's, and is there without a daemon too


def ask(
    message: dict[str, Any], path: Path = Path(wellknown.USER_SOCKET), patience: float = PATIENCE
) -> Iterator[dict[str, Any]]:
    """Send one question and yield every frame of the answer.

    Raises DaemonGone when the daemon cannot be reached, says nothing for ``patience`` seconds, or breaks off.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel = Channel(sock)
    try:
        sock.settimeout(patience)
        sock.connect(str(path))
        with suppress(BrokenPipeError):  # turned away already, and told why
            channel.send({"v": wellknown.PROTOCOL, **message})
        while (frame := channel.receive()) is not None:
            sock.settimeout(None)
            yield frame
    except (OSError, FrameError) as error:
        raise DaemonGone(DAEMON_UNREACHED.sentence(path=path, why=error)) from error
    finally:
        channel.close()


def ask_once(
    message: dict[str, Any], path: Path = Path(wellknown.USER_SOCKET), patience: float = PATIENCE
) -> dict[str, Any]:
    """The one frame that answers a question.

    Raises BridgeError with the daemon's own sentence where it is none, and DaemonGone as `ask` does.
    """
    for frame in ask(message, path, patience):
        if frame.get("kind") in ("error", "busy"):
            raise BridgeError(str(frame["sentence"]))
        return frame
    raise BridgeError(DAEMON_MUTE.sentence())
