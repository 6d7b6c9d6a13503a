"""The job's user: whose groups, and how a child becomes nobody but that user."""

import os

from bridge.hook import child
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridge.hook.job import Job


class Account:
    """uid, primary gid, all gids (sorted, the primary one among them), and a name for messages."""

    def __init__(self, uid: int, gid: int, groups: "list[int]", name: str) -> None:
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.name = name


def lookup(job: "Job", seconds: float) -> "Account":
    """The job's user with the groups that this node's name service knows.

    Only the primary group where the name service fails, hangs or does not know the user: less access,
    never more. Raises ValueError when slurmd did not say whose job this is.
    """
    if job.uid is None or job.gid is None:
        raise ValueError(messages.NO_ACCOUNT)
    uid, gid, user = job.uid, job.gid, job.user

    def ask() -> bytes:
        import pwd  # NSS: may load modules, may ask a server, may hang

        try:
            user_name = pwd.getpwuid(uid).pw_name
        except KeyError:
            user_name = user
        return b" ".join(b"%d" % group for group in os.getgrouplist(user_name, gid))

    try:
        groups = [int(number) for number in child.start(ask, seconds).reply().split()]
    except (child.LateError, child.DiedError, OSError):
        groups = []
    return Account(uid, gid, sorted({gid, *groups}), user or "uid %d" % uid)


def become(account: "Account") -> None:
    """Give up root for good. Raises OSError; the caller does nothing as the wrong user then."""
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if os.getresuid() != (account.uid,) * 3 or os.getresgid() != (account.gid,) * 3:
        raise OSError(messages.NOBODY_YET)
