"""Slurm's scontrol: where it is, what it is given, and the one order that the hook gives it as the job's owner."""

import os

from bridge.hook import account as accounts
from bridge.hook import child
from bridge.hook.word import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from bridge.hook.account import Account
    from bridge.hook.job import Job
    from bridge.hook.paths import Paths

_DIRECTORIES = ("/usr/bin", "/usr/local/bin", "/opt/slurm/bin")
MISSING = "no scontrol beside slurmd nor in %s; install Slurm's client" % ", ".join(_DIRECTORIES)


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
    target = str(order.get("job"))
    program = find(paths)
    if who.uid == 0 or not all(part.isdigit() for part in target.split("_", 1)):
        return "not asked to requeue %s: the owner or the job is not known" % printable(target)
    if program is None:
        return MISSING
    verb = "requeuehold" if order.get("hold") is True else "requeue"
    try:
        started = child.start_program([program, verb, target], environment(job), seconds, lambda: accounts.become(who))
        said = printable(" ".join(started.output().decode("utf-8", "replace").split()))
    except child.LateError:
        return "scontrol %s took longer than %d s; is slurmctld up?" % (verb, seconds)
    except (child.DiedError, OSError) as error:
        return "cannot run scontrol %s: %s" % (verb, error)
    # It says nothing when all is well, and its exit status is lost with the child.
    return "scontrol %s said: %s" % (verb, said) if said else ""
