"""Telling systemd how we are (sd_notify(3)): one datagram to $NOTIFY_SOCKET."""

import os
import socket
import threading
from collections.abc import Callable


def notify(state: str) -> None:
    """Send e.g. ``READY=1``; nothing happens outside systemd, and a lost message is not worth an error."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.sendto(state.encode(), address)
        except OSError:
            return


def feed_watchdog(is_well: Callable[[], bool], stopping: threading.Event) -> None:
    """Give systemd its signs of life until `stopping`, as long as all is well: without them it starts us anew."""
    period = _watchdog_seconds()
    while period is not None and not stopping.wait(period):
        if is_well():
            notify("WATCHDOG=1")


def _watchdog_seconds() -> float | None:
    """Half the time in which systemd wants a sign of life, or None when it wants none."""
    usec = os.environ.get("WATCHDOG_USEC", "")
    return int(usec) / 2e6 if usec.isdigit() and int(usec) else None
