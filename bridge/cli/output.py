"""`bridgectl logs`: the last lines of a rank while its pod is there, the job's output file afterwards."""

import argparse
import os
import shutil
import stat
import sys

from bridge.cli import slurm, sources
from bridge.cli.jobid import JobId, job_id
from bridge.errors import BridgeError
from bridge.messages import bridgectl as messages
from bridge.wire.client import ask_once


def logs(options: argparse.Namespace) -> int:
    """Print them; what was read instead is said on stderr."""
    asked = job_id(options.job)
    if options.here or sources.has_daemon():
        try:
            return _here(options, asked)
        except BridgeError:
            if options.here:
                raise
            return _from_afar(options, asked)
    return _from_afar(options, asked)


def _here(options: argparse.Namespace, asked: JobId) -> int:
    number = sources.number_here(asked) if options.here else sources.run_of(asked).run["job"]
    answer = ask_once({"verb": "logs", "job": number, "rank": options.rank, "lines": options.lines})
    if answer["kind"] == "gone" and not options.here:
        return _file(answer["output"], answer["sentence"])
    if answer["kind"] == "gone":
        raise BridgeError(
            messages.POD_GONE.sentence(what=answer["sentence"], output=answer["output"] or "its output file")
        )
    sys.stdout.buffer.write(answer["data"].encode("latin-1"))
    sys.stdout.buffer.flush()
    return 0


def _from_afar(options: argparse.Namespace, asked: JobId) -> int:
    job = slurm.job(asked)
    if job is None:
        raise BridgeError(messages.JOB_FORGOTTEN.sentence(job=asked))
    if job.takes_steps:
        words = ["logs", str(job.id), f"--rank={options.rank}", f"--lines={options.lines}", "--here"]
        sys.stdout.write(slurm.step(job, words))
        return 0
    return _file(job.output, messages.NOT_RUNNING.format(job=job.named, state=job.state))


def _file(path: str, why: str) -> int:
    """The output of all ranks, as `attach` wrote it."""
    if not path:
        raise BridgeError(messages.OUTPUT_UNKNOWN.sentence(what=why))
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BridgeError(messages.OUTPUT_NO_FILE.sentence(what=why, path=path))
            print(f"bridgectl: {messages.OUTPUT_FILE.sentence(what=why, path=path)}", file=sys.stderr, flush=True)
            shutil.copyfileobj(file, sys.stdout.buffer)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BridgeError(messages.OUTPUT_UNREADABLE.sentence(what=why, path=path, why=error.strerror)) from error
    return 0
