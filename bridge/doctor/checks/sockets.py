"""The two sockets: kind, owner and mode are what keeps users from speaking as slurmd."""

from collections.abc import Iterator

from bridge import wellknown
from bridge.doctor.check import Check, Told
from bridge.doctor.files import FileFacts, seen
from bridge.doctor.place import Place
from bridge.messages import doctor as messages

_MODES = {wellknown.HOOK_SOCKET: 0o600, wellknown.USER_SOCKET: 0o666}
_DIRECTORY = "/run/slurm-k8s-bridge"


def look(place: Place) -> tuple[FileFacts, ...]:
    return tuple(seen(place.path(name), name) for name in (_DIRECTORY, *_MODES))


def judge(facts: tuple[FileFacts, ...]) -> Iterator[Told]:
    for file in facts:
        kind, mode = ("directory", 0o755) if file.path == _DIRECTORY else ("socket", _MODES[file.path])
        if file.kind != kind:
            yield messages.SOCKET_MISSING.told(path=file.path, kind=kind)
        elif (file.owner, file.mode) != ("root", mode):
            yield messages.SOCKET_OPEN.told(
                path=file.path, owner=file.owner, mode=f"{file.mode:04o}", due=f"{mode:04o}"
            )


CHECK = Check("sockets", "hook.sock and user.sock: there, of root, modes 0600 and 0666", look, judge)
