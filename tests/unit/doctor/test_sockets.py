"""The sockets."""

import socket
from pathlib import Path

from bridge import wellknown
from bridge.doctor.checks.sockets import CHECK
from bridge.doctor.files import FileFacts

from .given import Somewhere, judged

GOOD = (
    FileFacts("/run/slurm-k8s-bridge", "directory", "root", "root", 0o755),
    FileFacts(wellknown.HOOK_SOCKET, "socket", "root", "root", 0o600),
    FileFacts(wellknown.USER_SOCKET, "socket", "root", "root", 0o666),
)


def test_kind_owner_and_mode() -> None:
    directory, hook, user = GOOD
    assert judged(CHECK, GOOD) == []
    assert judged(CHECK, (directory, FileFacts(hook.path), user)) == ["socket-missing"]
    assert judged(CHECK, (directory, hook, FileFacts(user.path, "file", "root", "root", 0o666))) == ["socket-missing"]
    assert judged(CHECK, (directory, FileFacts(hook.path, "socket", "root", "root", 0o666), user)) == ["socket-open"]
    assert judged(CHECK, (directory, hook, FileFacts(user.path, "socket", "ml", "root", 0o666))) == ["socket-open"]


def test_it_looks_at_the_files(tmp_path: Path) -> None:
    place = Somewhere(tmp_path)
    assert [file.kind for file in CHECK.look(place)] == ["", "", ""]
    (tmp_path / "run" / "slurm-k8s-bridge").mkdir(parents=True, mode=0o755)
    with socket.socket(socket.AF_UNIX) as hook:
        hook.bind(str(place.path(wellknown.HOOK_SOCKET)))
        place.path(wellknown.HOOK_SOCKET).chmod(0o660)
        found = CHECK.look(place)
    assert [(file.kind, file.path) for file in found][:2] == [("directory", GOOD[0].path), ("socket", GOOD[1].path)]
    assert found[1].mode == 0o660
