"""The spec file, read as the job's user: whatever it is, root never touches it."""

import errno
import os
import stat

from bridge import wellknown
from bridge.hook import account as accounts
from bridge.hook import child
from bridge.hook.word import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge.hook.account import Account
    from bridge.hook.job import Job

# Opening a fifo or a device may not block, and a terminal may not become ours.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_CURES = {
    errno.ENOENT: "no such file; put it there, or correct k8s= (it counts from the job's working directory)",
    errno.ENOTDIR: "a part of the path is no directory; correct k8s=",
    errno.EACCES: "permission denied; let {user} read the file and enter every directory above it",
    errno.ELOOP: "too many symbolic links; name the file itself in k8s=",
    errno.ENAMETOOLONG: "the name is too long; correct k8s=",
    errno.ESTALE: "stale NFS handle on this node; submit again, and tell the administrator",
}


class UnreadableError(Exception):
    """One sentence with cause and cure."""


def read(job: "Job", who: "Account", seconds: float) -> "tuple[str, bytes]":
    """Absolute path (for messages) and bytes of the job's spec file.

    Raises UnreadableError.
    """
    if not job.spec:
        raise UnreadableError("k8s= names no file; write k8s=PATH, the path of the spec file")
    path = os.path.normpath(os.path.join(job.work_dir, job.spec))
    shown = printable(path.decode("utf-8", "replace"))
    start = "cannot read %s as user %s: " % (shown, printable(who.name))
    try:
        reply = child.start(lambda: _read_as(who, path), seconds).reply()
    except child.LateError:
        late = "took longer than %d s on %s; the file system may hang there, tell the administrator"
        raise UnreadableError(start + late % (seconds, job.node))
    except (child.DiedError, OSError) as error:
        raise UnreadableError(start + "reading failed on %s (%s); submit again" % (job.node, error))
    if reply[:1] == b"D":
        return shown, reply[1:]
    cause = reply[1:].decode("utf-8", "replace")
    if job.spec.startswith(b"~"):
        cause = "~ is not expanded here; write the path from / on"
    raise UnreadableError(start + cause)


def _read_as(who: "Account", path: bytes) -> bytes:
    """In the child: D and the data, or E and the end of a sentence."""
    try:
        accounts.become(who)
    except OSError as error:
        return b"E" + ("the hook cannot become this user (%s); tell the administrator" % error).encode()
    try:
        fd = os.open(path, _FLAGS)
        fault = _unfit(os.fstat(fd))
        data = b"" if fault else _limited(fd)
    except (OSError, ValueError) as error:
        return b"E" + _cause(error, who).encode("utf-8", "replace")
    if not fault and len(data) > wellknown.SPEC_LIMIT:
        fault = _too_large()
    return b"E" + fault.encode() if fault else b"D" + data


def _cause(error: "Exception", who: "Account") -> str:
    number = getattr(error, "errno", None)
    if number in _CURES:
        return _CURES[number].replace("{user}", printable(who.name))
    why = getattr(error, "strerror", None) or str(error)
    return "%s; see whether the file can be read on this node" % why


def _unfit(status: "os.stat_result") -> str:
    """Why a file of this kind is not read, or nothing."""
    if stat.S_ISREG(status.st_mode):
        return _too_large() if status.st_size > wellknown.SPEC_LIMIT else ""
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a fifo"), (stat.S_ISSOCK, "a socket"))
    kind = next((name for test, name in kinds if test(status.st_mode)), "a device")
    return "is %s; k8s= must name a regular file" % kind


def _too_large() -> str:
    limit = wellknown.SPEC_LIMIT // (1024 * 1024)
    return "larger than %d MiB; k8s= must name the manifest, not data" % limit


def _limited(fd: int) -> bytes:
    """The bytes, at most one more than allowed: the file may grow while it is read."""
    data = b""
    while len(data) <= wellknown.SPEC_LIMIT:
        part = os.read(fd, 65536)
        if not part:
            break
        data += part
    return data
