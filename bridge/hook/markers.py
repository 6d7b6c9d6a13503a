"""Run markers: one small file per run that has begun on this node and is not proven gone.

The file's name is the job's number; restart and start inside say which run of that job. They outlive the
daemon, its journal and a reboot. A name that begins with a dot is no marker (the guards' globs do not see
it either).
"""

import errno
import os
import stat

from bridge.hook import plain
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    Content = dict[str, object]


class MarkerError(Exception):
    """The marker directory cannot be trusted or used; one sentence."""


def write(directory: str, job_id: int, content: "Content") -> None:
    """Make the marker of this job, durably: after this returns, a power cut does not lose it.

    Raises MarkerError.
    """
    try:
        place = _open(directory)
        try:
            _write(place, str(job_id), plain.dumps(content).encode() + b"\n")
        finally:
            os.close(place)
    except OSError as error:
        raise MarkerError(
            messages.MARKER_UNWRITTEN.sentence(directory=directory, job=job_id, why=error.strerror or error)
        )


def read(directory: str, job_id: int) -> "Content":
    """What the marker of this job says; empty where it is damaged. Raises FileNotFoundError."""
    place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _read(place, job_id)
    finally:
        os.close(place)


def run_of(content: "Content") -> "Optional[tuple[int, int]]":
    """Restart and start of the run that a marker names, 0 for a start that Slurm did not tell (before 23.02);
    None where it is damaged."""
    restart, start = content.get("restart"), content.get("start") or 0
    return (restart, start) if type(restart) is int and type(start) is int else None


def present(directory: str) -> "list[int]":
    """The job ids that have a marker, in order. Raises MarkerError where that cannot be known."""
    try:
        names = os.listdir(directory)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return []
        raise MarkerError(messages.MARKERS_UNREAD.sentence(directory=directory, why=error.strerror or error))
    return sorted(int(name) for name in names if name.isdigit())


def remove(directory: str, job_id: int, run: "Optional[tuple[int, int]]" = None) -> "Optional[str]":
    """Remove the marker of a run that is proven gone; returns why that failed, or nothing.

    With ``run``, its restart and start, the marker stays where it names another run: the job's next one may have
    written it since. A damaged marker names none, and no hook at work leaves one behind.
    Not durable on purpose: a marker that a power cut brings back costs one more proof.
    """
    try:
        place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _lock(place)
            if run is None or run_of(_read(place, job_id)) in (None, run):
                os.unlink(str(job_id), dir_fd=place)
        finally:
            os.close(place)
    except OSError as error:
        if error.errno != errno.ENOENT:
            why = error.strerror or error
            return messages.MARKER_UNREMOVED.sentence(directory=directory, job=job_id, why=why)
    return None


def _read(place: int, job_id: int) -> "Content":
    import json  # see `plain`

    fd = os.open(str(job_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
    try:
        content = json.loads(os.read(fd, 65536).decode())
    except ValueError:
        content = {}
    finally:
        os.close(fd)
    return content if isinstance(content, dict) else {}


def _lock(place: int) -> None:
    """Until ``place`` is closed nobody else replaces or removes a marker: what was read is what is removed."""
    import fcntl  # half a millisecond, and only here

    fcntl.flock(place, fcntl.LOCK_EX)


def _open(directory: str) -> int:
    """The directory, made if it is missing; nobody but root may be able to put things there."""
    try:
        os.makedirs(directory, 0o755)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(place)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
        os.close(place)
        raise MarkerError(messages.MARKERS_OPEN.sentence(directory=directory))
    return place


def _write(place: int, name: str, data: bytes) -> None:
    temporary = "." + name
    try:
        os.unlink(temporary, dir_fd=place)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o644, dir_fd=place)
    try:
        os.fchmod(fd, 0o644)
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    _lock(place)
    os.rename(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    os.fsync(place)
