"""The spec file, read as the job's user: whatever it is, root never touches it."""

import errno
import os
import stat

from bridge import wellknown
from bridge.hook import account as accounts
from bridge.hook import child
from bridge.hook.word import printable
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge.hook.account import Account
    from bridge.hook.job import Job

# Opening a fifo or a device may not block, and a terminal may not become ours.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_CURES = {
    errno.ENOENT: messages.SPEC_MISSING,
    errno.ENOTDIR: messages.SPEC_NO_DIRECTORY,
    errno.EACCES: messages.SPEC_DENIED,
    errno.ELOOP: messages.SPEC_LINKS,
    errno.ENAMETOOLONG: messages.SPEC_NAME,
    errno.ESTALE: messages.SPEC_STALE,
}


class UnreadableError(Exception):
    """One sentence with cause and cure."""


def read(job: "Job", who: "Account", seconds: float) -> "tuple[str, bytes]":
    """Absolute path (for messages) and bytes of the job's spec file.

    Raises UnreadableError.
    """
    if not job.spec:
        raise UnreadableError(messages.SPEC_NO_PATH)
    path = os.path.normpath(os.path.join(job.work_dir, job.spec))
    shown = printable(path.decode("utf-8", "replace"))
    start = messages.SPEC_UNREAD.format(path=shown, user=printable(who.name))
    try:
        reply = child.start(lambda: _read_as(who, path), seconds).reply()
    except child.LateError:
        raise UnreadableError(start + messages.SPEC_LATE.format(seconds=int(seconds), node=job.node))
    except (child.DiedError, OSError) as error:
        raise UnreadableError(start + messages.SPEC_DIED.format(node=job.node, why=error))
    if reply[:1] == b"D":
        return shown, reply[1:]
    cause = reply[1:].decode("utf-8", "replace")
    if job.spec.startswith(b"~"):
        cause = messages.SPEC_TILDE
    raise UnreadableError(start + cause)


def read_own(path: bytes, user: str) -> bytes:
    """The same for a file that whoever calls this, ``user``, is to give to a prolog. Raises UnreadableError."""
    reply = _contents(path, user)
    if reply[:1] == b"D":
        return reply[1:]
    shown = printable(path.decode("utf-8", "replace"))
    start = messages.SPEC_UNREAD.format(path=shown, user=printable(user))
    raise UnreadableError(start + reply[1:].decode("utf-8", "replace"))


def _read_as(who: "Account", path: bytes) -> bytes:
    """In the child: D and the data, or E and the end of a sentence."""
    try:
        accounts.become(who)
    except OSError as error:
        return b"E" + messages.SPEC_NOBODY.format(why=error).encode()
    return _contents(path, who.name)


def _contents(path: bytes, user: str) -> bytes:
    try:
        fd = os.open(path, _FLAGS)
        fault = _unfit(os.fstat(fd))
        data = b"" if fault else _limited(fd)
    except (OSError, ValueError) as error:
        return b"E" + _cause(error, user).encode("utf-8", "replace")
    if not fault and len(data) > wellknown.SPEC_LIMIT:
        fault = _too_large()
    return b"E" + fault.encode() if fault else b"D" + data


def _cause(error: "Exception", user: str) -> str:
    number = getattr(error, "errno", None)
    if number in _CURES:
        return _CURES[number].replace("{user}", printable(user))
    why = getattr(error, "strerror", None) or str(error)
    return messages.SPEC_OTHER.format(why=why)


def _unfit(status: "os.stat_result") -> str:
    """Why a file of this kind is not read, or nothing."""
    if stat.S_ISREG(status.st_mode):
        return _too_large() if status.st_size > wellknown.SPEC_LIMIT else ""
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a fifo"), (stat.S_ISSOCK, "a socket"))
    kind = next((name for test, name in kinds if test(status.st_mode)), "a device")
    return messages.SPEC_KIND.format(kind=kind)


def _too_large() -> str:
    return messages.SPEC_LARGE.format(mebibytes=wellknown.SPEC_LIMIT // (1024 * 1024))


def _limited(fd: int) -> bytes:
    """The bytes, at most one more than allowed: the file may grow while it is read."""
    data = b""
    while len(data) <= wellknown.SPEC_LIMIT:
        part = os.read(fd, 65536)
        if not part:
            break
        data += part
    return data
