"""Signals for the ranks of a job: `bridgectl signal` on one node, and on all of them by a step of the job.

The step runs as the job's user, and so do the pods' processes: nobody has rights here that the user has not.
"""

import argparse
import json
import os
import signal

from pydantic import BaseModel, ValidationError

from bridge.cli import processes, slurm, sources
from bridge.cli.jobid import job_id
from bridge.errors import BridgeError
from bridge.messages import bridgectl as messages


class _Answer(BaseModel):
    """What one node says."""

    signalled: int
    processes: int


def send(options: argparse.Namespace) -> int:
    """`bridgectl signal`: to the processes of the job's pod on this node."""
    told = sources.run_here(job_id(options.job))
    sent = processes.send(told.run["pod_uids_here"], options.signal)
    if options.output == "json":
        print(json.dumps({"signalled": sent.signalled, "processes": sent.processes}))
    else:
        print(_told(options.signal, sent.signalled, sent.processes))
    return 0


def named(name: str) -> signal.Signals:
    """USR1, SIGUSR1 or usr1. Raises ValueError."""
    try:
        return signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]
    except KeyError:
        raise ValueError(name) from None


def signalled(job: int, number: signal.Signals) -> str:
    """Have this signal sent on every node of the job; what came of it. Raises BridgeError."""
    nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))
    words = ["signal", str(job), number.name, "-o", "json"]
    done = slurm.step_everywhere(job, nodes, words)
    answers = [answer for line in done.stdout.splitlines() if (answer := _answer(line)) is not None]
    if not answers:
        raise BridgeError(slurm.first_line(done.stderr))
    told = _told(number, sum(each.signalled for each in answers), sum(each.processes for each in answers))
    if len(answers) == nodes:
        return told
    why = slurm.first_line(done.stderr)
    return messages.SIGNAL_IN_PART.sentence(told=told, nodes=nodes, answers=len(answers), why=why)


def _told(number: signal.Signals, signalled_: int, seen: int) -> str:
    if not signalled_:
        return messages.SIGNAL_UNHEARD.sentence(signal=number.name, processes=seen)
    return f"{number.name} was sent to {signalled_} {'process' if signalled_ == 1 else 'processes'} of the ranks"


def _answer(line: str) -> _Answer | None:
    try:
        return _Answer.model_validate_json(line)
    except ValidationError:
        return None
