"""A short-lived Slurm token of the job's owner, minted by root for the daemon.

It lives in this process's memory and in the frame to the daemon: not in an argument, a file or a log.
"""

from bridge.hook import child, scontrol
from bridge.hook.word import printable
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from bridge.hook.child import Child
    from bridge.hook.job import Job
    from bridge.hook.paths import Paths

_ANSWER = "SLURM_JWT="
_BEYOND = 900  # seconds after the job's end: KillWait, the training's own grace, and clocks that differ
_SHORTEST, _LONGEST = 1800, 86400

# A token of these may act for everybody (SlurmUser is nearly always called slurm): never for the daemon.
_MIGHTY = ("root", "slurm")


class NoTokenError(Exception):
    """One sentence: the run goes on, reports to Slurm do not."""


class Mint:
    """A token that is being minted while the hook does other things."""

    def __init__(self, job: "Job", now: float, paths: "Paths", seconds: float) -> None:
        self._child: "Optional[Child]" = None
        self._fault = _refusal(job)
        self._seconds = seconds
        self._node = job.node
        program = scontrol.find(paths)
        if not self._fault and program is None:
            self._fault = scontrol.MISSING
        if self._fault or program is None:
            return
        argv = [program, "token", "username=" + job.user, "lifespan=%d" % lifespan(job.end, now)]
        try:
            self._child = child.start_program(argv, scontrol.environment(job), seconds)
        except OSError as error:
            self._fault = messages.SCONTROL_UNRUN.format(verb="token", why=error)

    def collect(self) -> str:
        """The token. Raises NoTokenError."""
        if self._child is None:
            raise _no_token(self._fault)
        try:
            text = self._child.output().decode("utf-8", "replace")
        except child.LateError:
            raise _no_token(messages.SCONTROL_LATE.format(verb="token", seconds=int(self._seconds)))
        except (child.DiedError, OSError) as error:
            raise _no_token(error)
        for line in text.splitlines():
            if line.startswith(_ANSWER) and len(line) > len(_ANSWER):
                return line[len(_ANSWER) :].strip()
        # No line of it is a token, or it would have been returned; the last one says most.
        said = [line for line in text.splitlines() if line.strip() and _ANSWER not in line]
        words = printable(said[-1] if said else "nothing")
        raise _no_token(messages.SCONTROL_SAID.format(verb="token", said=words))


def lifespan(end: "Optional[int]", now: float) -> int:
    """Seconds. Until the job's end somebody has to tell slurmctld how it ended, and after it nobody: Slurm takes no
    word of a job that is over. Of a longer job, or one that was lengthened, `attach` brings the next token."""
    left = (end or 0) - int(now)
    return min(max(left + _BEYOND, _SHORTEST), _LONGEST)


def _no_token(why: object) -> "NoTokenError":
    return NoTokenError(messages.NO_TOKEN.sentence(why=why))


def _refusal(job: "Job") -> str:
    """Why no token is asked for at all, or nothing.

    In the epilog of a forgotten job slurmd says root for want of the owner.
    """
    if not job.uid or job.user in _MIGHTY:
        return messages.OWNER_MIGHTY
    if not job.user or job.user.startswith("-") or not all(c.isalnum() or c in "-_.@+\\$" for c in job.user):
        return messages.OWNER_UNNAMED.format(name=printable(repr(job.user)))
    return ""
