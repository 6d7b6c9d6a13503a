"""Where the trainings of a job leave what the next one begins with."""

import re
from typing import Self

from pydantic import Field, model_validator

from bridge.config.section import Image, Label, Section

JOB_ID, USER, ACCOUNT = "${SLURM_JOB_ID}", "${SLURM_JOB_USER}", "${SLURM_JOB_ACCOUNT}"
_PLACEHOLDER = re.compile(r"\$\{[A-Z_]*\}")


class Checkpoints(Section):
    """A directory of each job for its checkpoints, the same when it is requeued.

    An init container in each pod makes it, as the job's user and with no right of anybody else's: the file system
    decides, as it would in the job's own script. It ends badly, and the job with it, where what stands there is a
    link or belongs to somebody else.
    """

    volume: Label
    """One of [volumes], which is mounted into every training at its mount_path for this."""
    directory: str = Field(default=f"checkpoints/{JOB_ID}", pattern=r"^[^/\s][^\s]*[^/\s]$")
    """Below the volume's mount_path; `${SLURM_JOB_ID}` must be in it, `${SLURM_JOB_USER}` and `${SLURM_JOB_ACCOUNT}`
    may. What stands above it must be the user's own, or root's with the sticky bit, as /tmp is."""
    variable: str = Field(default="CHECKPOINT_DIR", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that tells the training."""
    image: Image | None = None
    """Image with `sh` and `mkdir` for the init container; by default the training's own, which is on its way anyway."""

    @model_validator(mode="after")
    def _is_of_one_job(self) -> Self:
        if JOB_ID not in self.directory:
            raise ValueError(f"directory needs {JOB_ID}, or jobs would share it")
        unknown = set(_PLACEHOLDER.findall(self.directory)) - {JOB_ID, USER, ACCOUNT}
        if unknown:
            raise ValueError(
                f"directory: {', '.join(sorted(unknown))} is not known; there are {JOB_ID}, {USER}, {ACCOUNT}"
            )
        if {".", ".."} & set(self.directory.split("/")):
            raise ValueError("directory must not have a part `.` or `..`")
        return self
