"""Slurm's scontrol: where it is, what it is given, and the one order that the hook gives it as the job's owner."""

import os

from bridge.hook import account as accounts
from bridge.hook import child
from bridge.hook.word import printable
from bridge.messages import hook as messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from bridge.hook.account import Account
    from bridge.hook.job import Job
    from bridge.hook.paths import Paths

_DIRECTORIES = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin")
MISSING = messages.SCONTROL_MISSING.format(directories=", ".join(_DIRECTORIES))


def find(paths: "Paths") -> "Optional[str]":
    """The scontrol of the slurmd that runs us, else a usual one."""
    if paths.scontrol:
        return paths.scontrol
    directories = list(_DIRECTORIES)
    try:
        slurmd = os.readlink("%s/%d/exe" % (paths.proc, os.getppid()))
        directories.insert(0, os.path.join(os.path.dirname(os.path.dirname(slurmd)), "bin"))
    except OSError:
        pass
    for directory in directories:
        path = os.path.join(directory, "scontrol")
        if os.access(path, os.X_OK):
            return path
    return None


def environment(job: "Job") -> "dict[str, str]":
    """All that a scontrol of ours is given."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    if "SLURM_CONF" in job.env:
        environment["SLURM_CONF"] = job.env["SLURM_CONF"]
    return environment


def requeue(order: "dict[str, object]", job: "Job", who: "Account", paths: "Paths", seconds: float) -> str:
    """Put the job back into the queue, held where the order says so; returns why it could not be done, or nothing.

    slurmrestd can do this only since Slurm 26.05. As the owner and never as root, who may requeue anybody's job.
    """
    verb = "requeuehold" if order.get("hold") is True else "requeue"
    try:
        target = str(order.get("job") or _name(job, who, paths, seconds))
        if not all(part.isascii() and part.isdigit() for part in target.split("_", 1)):
            return messages.JOB_UNNAMED.format(name=printable(repr(target)))
        said = _said([verb, target], job, who, paths, seconds)
    except _Failed as error:
        return str(error)
    # It says nothing when all is well, and its exit status is lost with the child.
    return messages.SCONTROL_SAID.format(verb=verb, said=printable(" ".join(said.split()))) if said else ""


class _Failed(Exception):
    """scontrol could not be asked; one sentence."""


def _name(job: "Job", who: "Account", paths: "Paths", seconds: float) -> str:
    """How scontrol names this job alone: the plain number of an array's last element means the whole array."""
    shown = _said(["show", "job", str(job.id), "--oneliner"], job, who, paths, seconds)
    for line in shown.splitlines():
        words = dict(word.split("=", 1) for word in line.split(" ")[:3] if "=" in word)
        if words.get("JobId") != str(job.id):
            continue
        return words["ArrayJobId"] + "_" + words["ArrayTaskId"] if "ArrayTaskId" in words else str(job.id)
    said = printable(" ".join(shown.split()) or "nothing")
    raise _Failed(messages.SCONTROL_SAID.format(verb="show job", said=said))


def _said(words: "list[str]", job: "Job", who: "Account", paths: "Paths", seconds: float) -> str:
    program = find(paths)
    if who.uid == 0:
        raise _Failed(messages.OWNER_UNKNOWN)
    if program is None:
        raise _Failed(MISSING)
    try:
        started = child.start_program([program] + words, environment(job), seconds, lambda: accounts.become(who))
        return started.output().decode("utf-8", "replace")
    except child.LateError:
        raise _Failed(messages.SCONTROL_LATE.format(verb=words[0], seconds=int(seconds)))
    except (child.DiedError, OSError) as error:
        raise _Failed(messages.SCONTROL_UNRUN.format(verb=words[0], why=error))
