"""What a job has asked for, as slurmctld shows it to its owner."""

import re
import subprocess

from bridge.errors import AllocationError
from bridge.messages import bridgectl as messages
from bridge.slurm.comment import spec_path

_PATIENCE = 5.0  # seconds for scontrol
_FIELD = re.compile(r"^ *(Comment|Extra)=(.*)$", re.MULTILINE)


def without_run(job: int) -> str:
    """Why a job that asks for the bridge has no run on this node; '' where it does not ask, or slurmctld is silent."""
    command = ["scontrol", "show", "job", str(job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    fields = dict(_FIELD.findall(done.stdout))
    try:
        path = spec_path(fields.get("Extra", ""), fields.get("Comment", ""))
    except AllocationError:
        path = "…"
    if path is None:
        return ""
    return messages.NO_PROLOG_CAME.sentence(job=job, path=path)
