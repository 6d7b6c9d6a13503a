"""What a file is to who relies on it: kind, owner, mode."""

import grp
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FileFacts:
    """``kind`` is `file`, `socket`, `directory`, `other`, or '' where there is none."""

    path: str
    kind: str = ""
    owner: str = ""
    group: str = ""
    mode: int = 0


def seen(path: Path, name: str = "") -> FileFacts:
    """``name`` is what people are told it is called."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return FileFacts(name or str(path))
    return FileFacts(
        name or str(path), _kind(found.st_mode), _user(found.st_uid), _group(found.st_gid), stat.S_IMODE(found.st_mode)
    )


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISSOCK, "socket"), (stat.S_ISDIR, "directory"))
    return next((kind for is_it, kind in kinds if is_it(mode)), "other")


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
