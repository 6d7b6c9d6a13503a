"""The two hook programs: there, root's, and among those that slurmd runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch

from bridge.doctor.check import CannotLook, Check, Told, clause
from bridge.doctor.files import FileFacts, seen
from bridge.doctor.place import Place
from bridge.errors import BridgeError
from bridge.messages import doctor as messages

_HOOKS = {
    "Prolog": "/etc/slurm/prolog.d/50-slurm-k8s-bridge",
    "Epilog": "/etc/slurm/epilog.d/50-slurm-k8s-bridge",
}
_CLIENT = "/usr/lib/slurm-k8s-bridge/bridge/hook/__main__.py"
_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Hooks:
    """``patterns`` are what slurmd runs, by setting; None where slurmctld does not say, and ``unasked`` why."""

    files: dict[str, FileFacts]
    client: FileFacts
    patterns: dict[str, tuple[str, ...]] | None
    unasked: str = ""


def look(place: Place) -> Hooks:
    files = {name: seen(place.path(path), path) for name, path in _HOOKS.items()}
    patterns, unasked = None, ""
    try:
        patterns = {name: place.slurm.all(name) for name in _HOOKS}
    except BridgeError as error:
        unasked = clause(error)
    return Hooks(files, seen(place.path(_CLIENT), _CLIENT), patterns, unasked)


def judge(facts: Hooks) -> Iterator[Told]:
    for file in (*facts.files.values(), facts.client):
        if file.kind != "file":
            yield messages.HOOK_MISSING.told(path=file.path)
        elif file.owner != "root" or file.mode & _OTHERS_WRITE:
            yield messages.HOOK_OPEN.told(path=file.path, owner=file.owner, mode=f"{file.mode:04o}")
        elif file is not facts.client and not file.mode & 0o100:
            yield messages.HOOK_NOT_RUN.told(path=file.path)
    if facts.patterns is None:
        raise CannotLook(messages.SLURM_UNASKED.told(why=facts.unasked))
    for name, path in _HOOKS.items():
        if not any(fnmatch(path, pattern) for given in facts.patterns[name] for pattern in given.split(",")):
            yield messages.HOOK_UNCALLED.told(setting=name, path=path)


CHECK = Check("hooks", "prolog and epilog: there, root's, executable, and named by slurm.conf", look, judge)
