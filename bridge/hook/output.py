"""One sentence at the end of the job's output file, written as the job's user.

Only where the batch script will not start: slurmstepd truncates the file when it does.
"""

import errno
import os
import stat

from bridge.hook import account as accounts
from bridge.hook import child
from bridge.hook.word import printable
from bridge.messages import hook as messages

_LONGEST = 8192  # characters: a manifest may break many rules at once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge.hook.account import Account
    from bridge.hook.job import Job

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


def is_of(job: "Job", path: str) -> bool:
    """Whether this can be the job's output file by what slurmd tells of it: a pattern of sbatch(1), or nothing where
    it is the usual one. The daemon names the file; who has taken it over shall not choose where a user writes."""
    patterns = [job.stdout] if job.stdout else [b"slurm-%j.out", b"slurm-%A_%a.out"]
    names = os.path.join(job.work_dir, path.encode("utf-8", "surrogateescape")).split(b"/")
    for pattern in patterns:
        parts = os.path.join(job.work_dir, pattern).split(b"/")
        if len(parts) == len(names) and all(map(_fits, parts, names)):
            return True
    return False


def _fits(pattern: bytes, name: bytes) -> bool:
    """Whether this part of a path can come of this part of a pattern. By hand: a regular expression that a user has
    written can take a lifetime."""
    import re  # a millisecond, and only where something is told

    first, *rest = re.split(rb"%[0-9]*[A-Za-z%]", pattern)
    if not rest:
        return first == name
    *middle, last = rest
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    name = name[len(first) : len(name) - len(last)]
    for literal in middle:
        at = name.find(literal)
        if at < 0:
            return False
        name = name[at + len(literal) :]
    return True


def append(path: str, sentence: str, job: "Job", who: "Account", seconds: float) -> str:
    """Append ``slurm-k8s-bridge: <sentence>``; returns why it could not be done, or nothing.

    Never as root: in the epilog of a forgotten job slurmd says root for want of the owner, and whoever
    chose the path would choose where root writes.
    """
    if who.uid == 0:
        return messages.OUTPUT_NO_OWNER.format(path=path)
    # A line of the user's own log: no control characters, they could come from a registry's answer.
    line = "slurm-k8s-bridge: %s\n" % printable(" ".join(sentence.split()), _LONGEST)
    full = os.path.join(job.work_dir, path.encode("utf-8", "surrogateescape"))
    try:
        return child.start(lambda: _append_as(who, full, line.encode("utf-8", "replace")), seconds).reply().decode()
    except child.LateError:
        return messages.OUTPUT_LATE.format(path=path, seconds=int(seconds))
    except (child.DiedError, OSError) as error:
        return messages.OUTPUT_UNWRITTEN.format(path=path, why=error)


def _append_as(who: "Account", path: bytes, line: bytes) -> bytes:
    """In the child: write, and return why not."""
    try:
        accounts.become(who)
        # The user's own umask is not known here; 0600 (umask 077, see child) gives nothing away.
        fd = os.open(path, _FLAGS, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b"the output file is no regular file"
        os.write(fd, line)
        os.close(fd)  # a full quota over NFS shows itself here
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or 0
        return errno.errorcode.get(number, str(error)).encode("utf-8", "replace") + b" writing the output file"
    return b""
