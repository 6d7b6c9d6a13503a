"""`bridgectl shell`: a shell in a rank's container, with the rights of whoever asks and nobody else's.

The node's own identity may not exec into pods, so this needs a kubeconfig of the caller's; and kubectl, which speaks
terminals (sizes, signals, both stream protocols) better than any library here.
"""

import argparse
import os
import sys

from bridge import wellknown
from bridge.cli import kubectl, sources
from bridge.cli.jobid import job_id
from bridge.errors import BridgeError
from bridge.messages import bridgectl as messages

_SHELL = ("sh", "-c", "command -v bash >/dev/null && exec bash; exec sh")


def shell(options: argparse.Namespace) -> int:
    """Becomes kubectl; raises BridgeError where that cannot be."""
    asked = job_id(options.job)
    if not kubectl.has_kubeconfig():
        raise BridgeError(messages.NO_KUBECONFIG.sentence(job=options.job))
    program = kubectl.program()
    if program is None:
        raise BridgeError(messages.NO_KUBECTL.sentence(job=options.job))
    run = sources.run_of(asked).run
    pod = run["pods"].get(options.rank)
    if pod is None or not run["namespace"] or pod["phase"] != "Running":
        phase = pod["phase"] if pod else "not known"
        raise BridgeError(
            messages.NO_RUNNING_POD.sentence(rank=options.rank, job=options.job, phase=run["phase"], pod=phase)
        )
    terminal = ["--tty"] if sys.stdin.isatty() else []
    words = ["--namespace", run["namespace"], "exec", "--stdin", *terminal, pod["name"]]
    words += ["--container", wellknown.CONTAINER, "--", *(options.words or _SHELL)]
    sys.stdout.flush()
    os.execv(program, [program, *words])
