"""Slurm's own commands, run as whoever asks: how `bridgectl` on a login node learns of a job.

None of them may hang a terminal: each has a deadline, and is ended at it.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime

from bridge.errors import AllocationError, BridgeError
from bridge.messages import bridgectl as messages
from bridge.slurm.comment import own_sentence, spec_path

_SECONDS = 15.0  # for an answer of slurmctld or slurmdbd
_STEP_SECONDS = 30.0  # for a job step, from the order to its last word
_ENDING = 3.0  # seconds that a command has for its own end after SIGTERM
_BRIDGECTL = "/usr/bin/bridgectl"
_KEPT = ("HOME", "LANG", "PATH", "SLURM_CONF", "TZ", "USER")  # nothing of a job that this may run in
_FIELD = re.compile(r"^   (StdOut|Comment|Extra)=(.*)$", re.MULTILINE)
_WORD = re.compile(r"\b(JobId|UserId|JobState|BatchHost|NodeList|SubmitTime|EligibleTime|StartTime|Reason)=(\S+)")


@dataclass(frozen=True)
class SlurmJob:
    """One job as Slurm knows it. Times are seconds since the epoch, 0 where there is none (yet); ``output`` is the path
    of the batch script's output, '' where it is not known; ``comment`` may hold the bridge's sentence."""

    id: int
    state: str
    user: str = ""
    nodes: str = ""
    batch_host: str = ""
    output: str = ""
    comment: str = ""
    reason: str = ""
    submitted: int = 0
    eligible: int = 0
    allocated: int = 0

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


def job(number: int) -> SlurmJob | None:
    """This job, as slurmctld or accounting knows it; None where neither does. Raises BridgeError."""
    done = _run(["scontrol", "show", "job", str(number)], _SECONDS)
    found = [part for part in done.stdout.split("\n\n") if f"JobId={number} " in part.split("\n", 1)[0] + " "]
    if done.returncode == 0 and found:
        return _shown(number, found[0])
    return _accounted(number)


def own_jobs() -> list[SlurmJob]:
    """The jobs of whoever asks that have the bridge's word in their comment, as slurmctld tells. Raises BridgeError."""
    words = ["squeue", "--me", "--noheader", "--array", "--format=%A|%T|%u|%N|%B|%r|%k"]
    done = _run(words, _SECONDS)
    if done.returncode:
        raise BridgeError(messages.SQUEUE_REFUSED.sentence(said=_first_line(done.stderr)))
    rows = [line.split("|", 6) for line in done.stdout.splitlines()]
    return [found for found in (_listed(row) for row in rows if len(row) == 7) if _is_ours(found)]


def _listed(row: list[str]) -> SlurmJob:
    number, state, user, nodes, batch_host, reason, comment = row
    return SlurmJob(int(number), state, user, nodes, batch_host, comment=comment, reason=_none(reason))


def _is_ours(found: SlurmJob) -> bool:
    """As far as the comment says it: squeue does not show --extra before Slurm 23.02."""
    try:
        return bool(spec_path("", found.comment) or found.said)
    except AllocationError:
        return True  # it is refused, but it is meant for the bridge


def step(of: SlurmJob, words: list[str]) -> str:
    """What `bridgectl` with these words says in a step of the job on its batch node. Raises BridgeError with its own
    sentence where it fails."""
    done = _run(_srun(of, words), _STEP_SECONDS)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("bridgectl: ")]
        if said:
            raise BridgeError(said[0].removeprefix("bridgectl: "))
        raise BridgeError(messages.STEP_REFUSED.sentence(said=_first_line(done.stderr)))
    return done.stdout


def _srun(of: SlurmJob, words: list[str]) -> list[str]:
    """A step beside all others that takes nothing from them."""
    step = ["srun", "--overlap", f"--jobid={of.id}", f"--nodelist={of.batch_host}", "--nodes=1", "--ntasks=1"]
    step += ["--cpus-per-task=1", "--mem=0", "--gres=none", "--input=none", "--quiet", "--job-name=bridgectl"]
    return [*step, _BRIDGECTL, *words]


def _run(words: list[str], seconds: float) -> "subprocess.CompletedProcess[str]":
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {"LC_ALL": "C.UTF-8"}
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment, text=True, errors="replace"
        )
    except OSError as error:
        raise BridgeError(messages.NO_SLURM_COMMAND.sentence(command=words[0], why=error.strerror)) from error
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            raise BridgeError(messages.SLURM_SILENT.sentence(command=words[0], seconds=f"{seconds:.0f}")) from None
        except BaseException:
            _end(process)
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _end(process: "subprocess.Popen[str]") -> None:
    """SIGTERM first: srun takes its step back then."""
    process.terminate()
    try:
        process.communicate(timeout=_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()


def _shown(number: int, text: str) -> SlurmJob:
    words: dict[str, str] = {}
    for name, value in _WORD.findall(text):
        words.setdefault(name, value)  # the first one: a comment may hold others
    lines = dict(_FIELD.findall(text))
    return SlurmJob(
        id=number,
        state=words.get("JobState", "UNKNOWN"),
        user=words.get("UserId", "").partition("(")[0],
        nodes=_none(words.get("NodeList", "")),
        batch_host=_none(words.get("BatchHost", "")),
        output=lines.get("StdOut", ""),
        comment=lines.get("Comment", ""),
        reason=_none(words.get("Reason", "")),
        submitted=_seconds(words.get("SubmitTime", "")),
        eligible=_seconds(words.get("EligibleTime", "")),
        allocated=_seconds(words.get("StartTime", "")),
    )


def _accounted(number: int) -> SlurmJob | None:
    """From slurmdbd, which knows the output file since Slurm 24.05."""
    words = ["sacct", "--allocations", "--noheader", "--parsable2", f"--jobs={number}"]
    for more in (["--expand-patterns", "--format=JobIDRaw,User,State,StdOut"], ["--format=JobIDRaw,User,State"]):
        done = _run([*words, *more], _SECONDS)
        rows = [line.split("|", 3) for line in done.stdout.splitlines()]
        for row in rows if done.returncode == 0 else ():
            if row[0] == str(number):
                return SlurmJob(number, row[2].split(" ")[0], row[1], output=row[3] if len(row) > 3 else "")
    return None


def _none(text: str) -> str:
    return "" if text in ("(null)", "None") else text


def _seconds(text: str) -> int:
    try:
        return int(datetime.fromisoformat(text).timestamp())
    except ValueError:
        return 0  # Unknown, N/A


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else "nothing"
