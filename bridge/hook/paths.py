"""Where the hook finds things and how long it waits.

A job must not be able to move either, so neither comes from the environment or from an argument:
slurmd's hooks use ``SYSTEM``, and only a test that calls :func:`bridge.hook.client.run` passes others.
"""

import os

from bridge import wellknown
from bridge.hook import markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


class Paths:
    """Places. ``scontrol`` None: beside the slurmd that runs the hook, else in the usual directories."""

    def __init__(
        self,
        markers: str = wellknown.MARKER_DIR,
        socket: str = wellknown.HOOK_SOCKET,
        proc: str = "/proc",
        scontrol: "Optional[str]" = None,
        config: str = wellknown.CONFIG_FILE,
    ) -> None:
        self.markers = markers
        self.socket = socket
        self.config = config
        self.proc = proc
        self.scontrol = scontrol


class Patience:
    """Seconds.

    ``prolog``, ``foreign``, ``epilog``: without a sign of life from the daemon, for a job of ours, for
    another job while a marker is here, and for an epilog (just under the hour of EpilogTimeout).
    ``margin``: beyond the daemon's own deadline; ``last_word``: for an answer on a fresh connection
    after that. Together they stay below the 30 s by which PrologTimeout exceeds the deadline.
    ``lingering``: of the child that a failed epilog leaves behind, ``again`` between two of its questions.
    """

    def __init__(
        self,
        prolog: float = 60.0,
        foreign: float = 30.0,
        epilog: float = 3300.0,
        margin: float = 20.0,
        last_word: float = 8.0,
        spec: float = 10.0,
        token: float = 5.0,
        groups: float = 5.0,
        output: float = 5.0,
        scan: float = 30.0,
        lingering: float = 86400.0,
        again: float = 10.0,
    ) -> None:
        self.prolog = prolog
        self.foreign = foreign
        self.epilog = epilog
        self.margin = margin
        self.last_word = last_word
        self.spec = spec
        self.token = token
        self.groups = groups
        self.output = output
        self.scan = scan
        self.lingering = lingering
        self.again = again


SYSTEM = Paths()


def never_set_up(places: "Paths") -> bool:
    """Whether no bridge has ever worked on this node: no bridge.toml, no socket, no marker of a run.

    What cannot be looked at counts as there: the node is then one whose daemon is away, as ever.
    """
    if not (_absent(places.config) and _absent(places.socket)):
        return False
    try:
        return not markers.present(places.markers)
    except markers.MarkerError:
        return False


def _absent(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        pass
    return False
