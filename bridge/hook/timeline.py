"""The run's time line beside the job's output file, written as the job's user: `bridgectl explain` reads it there
once the job is over, from login nodes, too.

Nobody waits for it: the run is proven gone, and a file system that hangs must not keep the node from the next job.
"""

import os
import stat

from bridge import wellknown
from bridge.hook import account as accounts
from bridge.hook import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge.hook.account import Account
    from bridge.hook.job import Job
    from bridge.hook.paths import Patience

_LONGEST = 1024 * 1024  # bytes
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def leave(output: str, text: str, job: "Job", patience: "Patience") -> None:
    """Start a child that writes it. Never as root: whoever chose the path would choose where root writes.

    Raises OSError when fork fails, ValueError where nobody says whose job it is, or the text is too long.
    """
    if not job.uid or not job.gid:
        raise ValueError("no owner")
    data = text.encode("utf-8", "replace")
    if len(data) > _LONGEST:
        raise ValueError("too long")
    path = os.path.join(job.work_dir, output.encode("utf-8", "surrogateescape"))

    def work() -> bytes:
        who = accounts.lookup(job, patience.groups)  # here and not in the hook: a name service may hang, too
        return _write_as(who, path, data)

    child.start(work, patience.groups + patience.output)


def _write_as(who: "Account", output: bytes, data: bytes) -> bytes:
    """In the child: the whole file or none, in place of an earlier one; returns why not."""
    path = output + wellknown.TIMELINE_SUFFIX.encode()
    temporary = b"%s.%d" % (path, os.getpid())
    try:
        accounts.become(who)
        mode = _mode_of(output)
        if mode is None or not _is_replaceable(path):
            return b"there is no regular file"
        fd = os.open(temporary, _FLAGS, 0o600)
        try:
            if os.write(fd, data) != len(data):
                raise OSError("no room")
            os.fchmod(fd, mode)
            os.close(fd)  # a full quota over NFS shows itself here
            os.rename(temporary, path)  # replaces a link, and does not follow it
        except OSError:
            os.unlink(temporary)
            raise
    except (OSError, ValueError) as error:
        return str(error).encode("utf-8", "replace")
    return b""


def _mode_of(output: bytes) -> "int | None":
    """Who may read the output may read its time line; None where the output is no file, such as /dev/null."""
    try:
        status = os.stat(output)
    except FileNotFoundError:
        return 0o600
    return status.st_mode & 0o644 | 0o600 if stat.S_ISREG(status.st_mode) else None


def _is_replaceable(path: bytes) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
