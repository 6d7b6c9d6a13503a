"""The job's user: whose groups, and how a child becomes nobody but that user."""

import os

from bridge.hook import child
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

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
    return Lookup(job, seconds).collect()


class Lookup:
    """A look-up that is made while the hook does other things. Raises what `lookup` raises."""

    def __init__(self, job: "Job", seconds: float) -> None:
        if job.uid is None or job.gid is None:
            raise ValueError(messages.NO_ACCOUNT)
        uid, gid, user = self._uid, self._gid, self._user = job.uid, job.gid, job.user
        self._child: "Optional[child.Child]" = None

        def ask() -> bytes:
            import pwd  # NSS: may load modules, may ask a server, may hang

            try:
                user_name = pwd.getpwuid(uid).pw_name
            except KeyError:
                user_name = user
            return b" ".join(b"%d" % group for group in os.getgrouplist(user_name, gid))

        try:
            self._child = child.start(ask, seconds)
        except OSError:
            pass  # no process to be had: the primary group it is

    def collect(self) -> "Account":
        """To be called once."""
        try:
            told = b"" if self._child is None else self._child.reply()
            groups = [int(number) for number in told.split()]
        except (child.LateError, child.DiedError, OSError):
            groups = []
        return Account(self._uid, self._gid, sorted({self._gid, *groups}), self._user or "uid %d" % self._uid)


def become(account: "Account") -> None:
    """Give up root for good. Raises OSError; the caller does nothing as the wrong user then."""
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if os.getresuid() != (account.uid,) * 3 or os.getresgid() != (account.gid,) * 3:
        raise OSError(messages.NOBODY_YET)
