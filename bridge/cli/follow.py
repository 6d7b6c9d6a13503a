"""`bridgectl submit --follow`: a job from the queue to its end, by state, output and exit code."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bridge.cli import slurm
from bridge.cli.jobid import JobId
from bridge.commands import run
from bridge.errors import BridgeError
from bridge.messages import submission as messages
from bridge.messages.bridgectl import JOB_FORGOTTEN

_PERIOD = 2.0  # seconds between two questions to slurmctld, which sends no events
_SECONDS = 15.0  # for scancel
_PATIENCE = 600.0  # seconds in which Slurm may know nothing of the job
_LATE = 10.0  # seconds in which a shared file system shows the last lines of another node
_ALIVE = frozenset(
    {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "STOPPED"}
)
_INTERRUPTED = 130


def follow(number: int) -> int:
    """Until the job is over: its exit code, or 1 where Slurm ended it. Ctrl-C asks whether to cancel, and leaves."""
    try:
        return _Follower(number).run()
    except KeyboardInterrupt:
        return _left(number)


class _Follower:
    def __init__(self, number: int) -> None:
        self._number = number
        self._said = ""
        self._output = _Output()
        self._heard = time.monotonic()

    def run(self) -> int:
        while True:
            job = self._look()
            if job is not None:
                self._output.show(job.output)
                if job.state not in _ALIVE:
                    return self._ended(job)
                self._tell(job)
            time.sleep(_PERIOD)

    def _look(self) -> slurm.SlurmJob | None:
        """None while Slurm does not answer, as in its own restart: the job goes on without that, and so does this."""
        try:
            job = slurm.job(JobId(self._number))
        except BridgeError as error:
            self._say(str(error))
            return None
        if job is not None:
            self._heard = time.monotonic()
        elif time.monotonic() > self._heard + _PATIENCE:
            raise BridgeError(JOB_FORGOTTEN.sentence(job=self._number))
        return job

    def _ended(self, job: slurm.SlurmJob) -> int:
        self._output.end(job.output)
        self._say(messages.JOB_ENDED.format(job=job.named, state=job.state, code=job.exit_code))
        if job.state == "COMPLETED":
            return 0
        return job.exit_code or 1

    def _tell(self, job: slurm.SlurmJob) -> None:
        """Where it stands, when that has changed: what waits in the queue, what the bridge waits for."""
        what = "PROLOG" if job.in_prolog else job.state
        why = job.said.strip() or (job.reason if job.state == "PENDING" else "")
        self._say(messages.JOB_STANDS.format(job=job.named, state=what, why=f": {why}" if why else ""))

    def _say(self, sentence: str) -> None:
        if sentence != self._said:
            print(f"bridgectl: {sentence}", file=sys.stderr, flush=True)
        self._said = sentence


class _Output:
    """The output file of the batch script, which grows on another node: nobody tells, so what is new is looked for."""

    def __init__(self) -> None:
        self._path = ""
        self._shown = 0
        self._seen = False

    def show(self, path: str) -> None:
        """What is new in it. A requeued job begins it anew, or goes on in it."""
        if path != self._path:
            self._path, self._shown, self._seen = path, 0, False
        if not path:
            return
        try:
            with Path(path).open("rb") as file:
                self._shown = self._shown if os.fstat(file.fileno()).st_size >= self._shown else 0
                file.seek(self._shown)
                shutil.copyfileobj(file, sys.stdout.buffer)
                self._shown = file.tell()
        except BrokenPipeError:
            raise
        except OSError:
            return  # it comes with the batch script, or never to this machine: `end` tells that
        self._seen = True
        sys.stdout.buffer.flush()

    def end(self, path: str) -> None:
        """The rest, for which a shared file system may need a moment."""
        until = time.monotonic() + _LATE
        self.show(path)
        while path and not self._seen and time.monotonic() < until:
            time.sleep(_PERIOD)
            self.show(path)
        if path and not self._seen:
            print(f"bridgectl: {messages.OUTPUT_ELSEWHERE.sentence(path=path)}", file=sys.stderr, flush=True)


def _left(number: int, asks: Callable[[str], str] = input) -> int:
    """The job stays, unless a person says that it shall not."""
    answer = ""
    if sys.stdin.isatty():
        try:
            answer = asks(messages.CANCEL_IT.format(job=number))
        except (KeyboardInterrupt, EOFError):
            print(file=sys.stderr)
    if answer.strip().lower() in ("y", "yes"):
        done = run(["scancel", str(number)], _SECONDS)
        if done.returncode:
            raise BridgeError(messages.SCANCEL_REFUSED.sentence(said=slurm.first_line(done.stderr), job=number))
        return _INTERRUPTED
    print(f"bridgectl: {messages.JOB_GOES_ON.format(job=number)}", file=sys.stderr, flush=True)
    return _INTERRUPTED
