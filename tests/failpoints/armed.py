"""bridged with failpoints, in the place of /usr/sbin/bridged on a node of a chaos run.

The file `armed` of the journal's folder, the one that the daemon may write to, names failpoints, a line for each. When
one strikes, the file `struck` is made there, and while that is there none strikes: not in the next daemon either. The
file `ready` tells that a daemon has come so far.
"""

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from bridge import daemon, sdnotify
from bridge.errors import Unavailable
from bridge.wire.frames import Channel

from .failpoint import PLACES, Failpoint, Failpoints, Harm, Side, named
from .strike import is_first

_FOLDER = Path("/var/lib/slurm-k8s-bridge/journal")
ARMED, STRUCK, READY = _FOLDER / "armed", _FOLDER / "struck", _FOLDER / "ready"


class _OnDisk(Failpoints):
    """Told by a file what is armed: a daemon that is killed comes back and must not be killed again by the same."""

    def around(self, place: str, act: Callable[[], Any], die: Callable[[], None]) -> Any:
        self.arm(*_read())
        return super().around(place, act, die)

    def _due(self, place: str, side: Side, harm: Harm) -> bool:
        return super()._due(place, side, harm) and is_first(str(STRUCK), str(Failpoint(place, side, harm)))


def _read() -> Iterator[Failpoint]:
    with suppress(FileNotFoundError):
        yield from map(named, ARMED.read_text(encoding="ascii").split())


_failpoints = _OnDisk()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _harmed(port: str, real: type) -> type:
    """The same, whose calls pass their failpoints."""

    def passing(call: str) -> Callable[..., Any]:
        def passed(self: Any, *args: Any, **more: Any) -> Any:
            own = getattr(super(made, self), call)
            return _failpoints.around(f"{port}.{call}", lambda: own(*args, **more), _die)

        return passed

    calls = [place.partition(".")[2] for place in PLACES if place.startswith(f"{port}.")]
    made = type(f"Harmed{real.__name__}", (real,), {call: passing(call) for call in calls})
    return made


def _harm_replies() -> None:
    send = Channel.send

    def harmed(self: Channel, message: dict[str, Any]) -> None:
        place = f"reply.{message['kind']}"
        try:
            _failpoints.around(place, lambda: send(self, message), _die)
        except Unavailable as error:
            self.sock.shutdown(socket.SHUT_RDWR)
            raise OSError("the peer is gone") from error

    Channel.send = harmed  # type: ignore[method-assign]


def _leave_word_of_being_ready() -> None:
    notify = sdnotify.notify

    def noted(state: str) -> None:
        if state == "READY=1":
            READY.touch()
        notify(state)

    sdnotify.notify = noted


def main() -> int:
    """bridged."""
    for port, name in (
        ("kubernetes", "KubernetesClient"),
        ("slurmrest", "SlurmRestClient"),
        ("journal", "Journal"),
        ("kubelet", "KubeletProbe"),
    ):
        setattr(daemon, name, _harmed(port, getattr(daemon, name)))
    _harm_replies()
    _leave_word_of_being_ready()
    return daemon.main()


if __name__ == "__main__":
    sys.exit(main())
