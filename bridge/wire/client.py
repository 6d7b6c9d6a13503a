"""Asking the daemon of this node over its user socket."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bridge import wellknown
from bridge.errors import BridgeError
from bridge.wire.frames import Channel, FrameError


class DaemonGone(BridgeError):
    """No daemon answers on this node, or it went away in mid-sentence."""


def ask(message: dict[str, Any], path: Path = Path(wellknown.USER_SOCKET)) -> Iterator[dict[str, Any]]:
    """Send one question and yield every frame of the answer.

    Raises DaemonGone when the daemon cannot be reached or its stream breaks off.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel = Channel(sock)
    try:
        sock.connect(str(path))
        channel.send({"v": wellknown.PROTOCOL, **message})
        while (frame := channel.receive()) is not None:
            yield frame
    except (OSError, FrameError) as error:
        raise DaemonGone(
            f"bridged on this node cannot be reached at {path} ({error}); is slurm-k8s-bridge.service up?"
        ) from error
    finally:
        channel.close()
