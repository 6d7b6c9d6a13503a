"""The job's directory for checkpoints, made by an init container as the job's user."""

import re
from typing import Any

from bridge.config import Config
from bridge.config.checkpoints import ACCOUNT, JOB_ID, USER
from bridge.job.findings import Findings, shown
from bridge.job.images import mirrored
from bridge.job.placement import Placement

Fields = dict[str, Any]

_PART = re.compile(r"[A-Za-z0-9_@-][A-Za-z0-9_.@-]*")
_ANOTHER_ACCOUNT = "submit with --account, or ask the site for another directory for checkpoints"
INIT = "slurm-k8s-bridge-checkpoints"

# All ranks do it at once, and again when the job was requeued: that the directory is there already is no fault, that it
# is somebody else's or a link is one. `-O` fails where a shell does not know it, and so it fails closed.
_SCRIPT = """\
mkdir -p -- "${0%/*}" && { mkdir -- "$0" 2>/dev/null || test -d "$0"; } || exit 1
if test -d "$0" && test ! -L "$0" && test -O "$0"; then exit 0; fi
echo "$0 is there already, and is a link or belongs to somebody else" >&2
exit 1
"""


def path(config: Config, placement: Placement, findings: Findings) -> str:
    """The directory as the training sees it; '' where the site gives none."""
    section = config.pod.checkpoints
    if section is None:
        return ""
    below = section.directory
    for name in (JOB_ID, USER, ACCOUNT):
        value = placement.variables.get(name[2:-1], "")
        if name in below and not _PART.fullmatch(value):
            findings.refuse(name, f"{shown(value)} cannot be part of a directory's name", _ANOTHER_ACCOUNT)
        below = below.replace(name, value)
    return f"{config.volumes[section.volume].mount_path.rstrip('/')}/{below}"


def maker(directory: str, image: str, config: Config) -> Fields:
    """Name, image and command of the init container; ``image`` is the training's."""
    section = config.pod.checkpoints
    assert section is not None
    return {
        "name": INIT,
        "image": image if section.image is None else mirrored(section.image, config.pod.mirrors),
        "command": ["sh", "-c", _SCRIPT, directory],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
