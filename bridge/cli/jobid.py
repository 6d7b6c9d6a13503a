"""Job ids as Slurm's people write them: 12, and 12_3 for an element of an array."""

import re
from dataclasses import dataclass

from bridge.errors import Misused
from bridge.messages import bridgectl as messages

_FORM = re.compile(r"([1-9][0-9]{0,9})(?:([_+])([0-9]{1,10}))?")
_GIVEN_LIMIT = 40  # characters of what is none that are shown


@dataclass(frozen=True)
class JobId:
    """``task``: which element of the array ``number``; None for a job that is named by its number alone."""

    number: int
    task: int | None = None

    def __str__(self) -> str:
        return str(self.number) if self.task is None else f"{self.number}_{self.task}"


def job_id(text: str) -> JobId:
    """The job that is named so. Raises Misused for what is no name of a job that the bridge may know."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise Misused(messages.JOBID_UNLIKE.sentence(given=repr(text[:_GIVEN_LIMIT])))
    if match[2] == "+":
        raise Misused(messages.HET_PART.sentence(job=text))
    return JobId(int(match[1]), None if match[3] is None else int(match[3]))
