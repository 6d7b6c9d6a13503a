"""Slurm's own commands, run as whoever asks: how `bridgectl` on a login node learns of a job.

None of them may hang a terminal: each has a deadline, and is ended at it.
"""

import re
import subprocess
from dataclasses import dataclass
from datetime import datetime

from bridge.cli.jobid import JobId
from bridge.commands import run
from bridge.errors import AllocationError, BridgeError, Misused
from bridge.messages import bridgectl as messages
from bridge.slurm.comment import own_sentence, spec_path

_SECONDS = 15.0  # for an answer of slurmctld or slurmdbd
_STEP_SECONDS = 30.0  # for a job step, from the order to its last word
_BRIDGECTL = "/usr/bin/bridgectl"
_ELEMENTS_SHOWN = 20  # of an array whose elements are listed
_HEAD = re.compile(r"JobId=(\d+) (?:ArrayJobId=(\d+) ArrayTaskId=(\S+) )?")
_FIELD = re.compile(r"^   (StdOut|Comment|Extra)=(.*)$", re.MULTILINE)
_WORD = re.compile(
    r"\b(JobId|UserId|JobState|BatchHost|NodeList|SubmitTime|EligibleTime|StartTime|Reason|ExitCode)=(\S+)"
)


@dataclass(frozen=True)
class SlurmJob:
    """One job as Slurm knows it. Times are seconds since the epoch, 0 where there is none (yet); ``output`` is the path
    of the batch script's output, '' where it is not known; ``comment`` may hold the bridge's sentence; ``named`` is
    what Slurm's people call it, as 12_3 for an element of an array; ``exit_code`` is its script's, as a shell shows it,
    0 as long as it runs."""

    id: int
    state: str
    named: str
    user: str = ""
    nodes: str = ""
    batch_host: str = ""
    output: str = ""
    comment: str = ""
    reason: str = ""
    submitted: int = 0
    eligible: int = 0
    allocated: int = 0
    exit_code: int = 0

    @property
    def in_prolog(self) -> bool:
        """Whether its prologs run: Slurm shows RUNNING already, for the reason Prolog (tried on 24.11)."""
        return self.state == "CONFIGURING" or (self.state == "RUNNING" and self.reason == "Prolog")

    @property
    def takes_steps(self) -> bool:
        """Whether a step of it would run: while its prologs do, slurmd holds it back, and later Slurm starts none."""
        return self.state == "RUNNING" and not self.in_prolog and bool(self.batch_host)

    @property
    def said(self) -> str:
        """The bridge's sentence in the job's comment, '' where there is none."""
        return own_sentence(self.comment)


def job(asked: JobId) -> SlurmJob | None:
    """This job, as slurmctld or accounting knows it; None where neither does. Raises BridgeError, and Misused for an
    array of several elements."""
    done = run(["scontrol", "show", "job", str(asked)], _SECONDS)
    shown = [(match, part) for part in done.stdout.split("\n\n") if (match := _HEAD.match(part))]
    found = {_named(match): (int(match[1]), part) for match, part in shown if done.returncode == 0}
    name = _one_of(asked, list(found))
    if name is None and asked.task is None:
        name = next((name for name, (number, _) in found.items() if number == asked.number), None)
    return _accounted(asked) if name is None else _shown(*found[name], name)


def _named(head: re.Match[str]) -> str:
    """Elements that wait are one to Slurm: `12_[4-9]`."""
    number, array, task = head.groups()
    if array is None:
        return str(number)
    return f"{array}_{task}" if task.isdigit() else f"{array}_[{task}]"


def _one_of(asked: JobId, names: list[str]) -> str | None:
    """The one of these jobs that is meant; None for none. Raises Misused where several elements of an array are."""
    if asked.task is not None:
        waiting = (name for name in names if name.startswith(f"{asked.number}_["))
        return str(asked) if str(asked) in names else next(waiting, None)
    elements = [name for name in names if name.startswith(f"{asked.number}_")]
    if len(elements) > 1 or any("[" in name for name in elements):
        listed = sorted(elements, key=lambda name: (len(name), name))
        shown, more = listed[:_ELEMENTS_SHOWN], len(listed) - _ELEMENTS_SHOWN
        words = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        example = next((name for name in shown if "[" not in name), f"{asked.number}_0")
        raise Misused(messages.ARRAY_JOB.sentence(job=asked, elements=words, example=example))
    return elements[0] if elements else next((name for name in names if name == str(asked)), None)


def own_jobs() -> list[SlurmJob]:
    """The jobs of whoever asks that have the bridge's word in their comment, as slurmctld tells. Raises BridgeError."""
    words = ["squeue", "--me", "--noheader", "--array", "--format=%A|%i|%T|%u|%N|%B|%r|%k"]
    done = run(words, _SECONDS)
    if done.returncode:
        raise BridgeError(messages.SQUEUE_REFUSED.sentence(said=first_line(done.stderr)))
    rows = [line.split("|", 7) for line in done.stdout.splitlines()]
    return [found for found in (_listed(row) for row in rows if len(row) == 8) if _is_ours(found)]


def _listed(row: list[str]) -> SlurmJob:
    number, name, state, user, nodes, batch_host, reason, comment = row
    return SlurmJob(int(number), state, name, user, nodes, batch_host, comment=comment, reason=_none(reason))


def _is_ours(found: SlurmJob) -> bool:
    """As far as the comment says it: squeue does not show --extra before Slurm 23.02."""
    try:
        return bool(spec_path("", found.comment) or found.said)
    except AllocationError:
        return True  # it is refused, but it is meant for the bridge


def step(of: SlurmJob, words: list[str]) -> str:
    """What `bridgectl` with these words says in a step of the job on its batch node. Raises BridgeError with its own
    sentence where it fails."""
    done = run(_srun(of.id, [f"--nodelist={of.batch_host}", "--nodes=1", "--ntasks=1"], words), _STEP_SECONDS)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("bridgectl: ")]
        if said:
            raise BridgeError(said[0].removeprefix("bridgectl: "))
        raise BridgeError(messages.STEP_REFUSED.sentence(said=first_line(done.stderr)))
    return done.stdout


def step_everywhere(job: int, nodes: int, words: list[str]) -> "subprocess.CompletedProcess[str]":
    """What `bridgectl` with these words says in a step with one task on each of the job's nodes, well or not."""
    where = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
    return run(_srun(job, where, words), _STEP_SECONDS)


def _srun(job: int, where: list[str], words: list[str]) -> list[str]:
    """A step beside all others that takes nothing from them."""
    step = ["srun", "--overlap", f"--jobid={job}", *where]
    step += ["--cpus-per-task=1", "--mem=0", "--gres=none", "--input=none", "--quiet", "--job-name=bridgectl"]
    return [*step, _BRIDGECTL, *words]


def _shown(number: int, text: str, named: str) -> SlurmJob:
    words: dict[str, str] = {}
    for name, value in _WORD.findall(text):
        words.setdefault(name, value)  # the first one: a comment may hold others
    lines = dict(_FIELD.findall(text))
    return SlurmJob(
        id=number,
        state=words.get("JobState", "UNKNOWN"),
        named=named,
        user=words.get("UserId", "").partition("(")[0],
        nodes=_none(words.get("NodeList", "")),
        batch_host=_none(words.get("BatchHost", "")),
        output=lines.get("StdOut", ""),
        comment=lines.get("Comment", ""),
        reason=_none(words.get("Reason", "")),
        submitted=_seconds(words.get("SubmitTime", "")),
        eligible=_seconds(words.get("EligibleTime", "")),
        allocated=_seconds(words.get("StartTime", "")),
        exit_code=_exit_code(words.get("ExitCode", "")),
    )


def _accounted(asked: JobId) -> SlurmJob | None:
    """From slurmdbd, which knows the output file since Slurm 24.05."""
    words = ["sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={asked}"]
    fields = "--format=JobID,JobIDRaw,User,State,ExitCode"
    for more in (["--expand-patterns", f"{fields},StdOut"], [fields]):
        done = run([*words, *more], _SECONDS)
        rows = [line.split("|", 5) for line in done.stdout.splitlines()] if done.returncode == 0 else []
        found = {row[0]: row for row in rows if len(row) >= 5 and row[1].isdigit()}
        name = _one_of(asked, list(found))
        if name is not None:
            _, number, user, state, code, *output = found[name]
            state, code_here = state.split(" ")[0], _exit_code(code)
            return SlurmJob(int(number), state, name, user, output="".join(output), exit_code=code_here)
    return None


def _exit_code(text: str) -> int:
    """Of `EXIT:SIGNAL`."""
    code, _, number = text.partition(":")
    if not (code.isdigit() and number.isdigit()):
        return 0
    return int(code) or (128 + int(number) if int(number) else 0)


def _none(text: str) -> str:
    return "" if text in ("(null)", "None") else text


def _seconds(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return 0  # Unknown, N/A


def first_line(text: str) -> str:
    """For people: the first words of somebody else's output."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "nothing"
